import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { bridge, type FirewallGround, makeFirewallGround, outside, seats, table } from '../support/firewall-ground.ts';
import { type ClientRun, runClient, startClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

const { a, b, gateway, hostSide } = seats;
const pinA = `${a.v4}=${a.mac}@${a.port}`;
const pinB = `${b.v4}=${b.mac}@${b.port}`;

describe('sallyport firewall', () => {
  let ground: FirewallGround;
  let built: BuiltCommand;
  beforeAll(async () => {
    built = buildCommand({
      allow: [{ host: 'api.example.com', ports: [8443] }],
      listen: { gateway: '192.0.2.0/24', proxy: '192.0.2.0/24:8080' },
    });
    ground = await makeFirewallGround();
    // Somebody else's rules, which are none of our business.
    await ground.load(
      'table inet theirs {\n chain input {\n type filter hook input priority 0; policy accept;\n tcp dport 9 drop\n }\n}\n',
    );
  });
  afterAll(async () => {
    await ground?.end();
    built?.remove();
  });

  const main = (): string => join(built.home, 'package', 'dist', 'main.cjs');
  const environment = (): Record<string, string> => ({
    HOME: built.home,
    SALLYPORT_HOME: join(built.home, 'state'),
    SALLYPORT_CONFIG: join(built.home, 'sallyport.yaml'),
    NO_COLOR: '1',
  });
  const firewall = (...words: string[]): Promise<ClientRun> =>
    ground.run('host', [process.execPath, main(), 'firewall', ...words], { env: environment() });
  const rulesetNow = async (): Promise<string> =>
    (await ground.run('host', ['nft', '--stateless', 'list', 'ruleset'])).stdout;
  const onHost = ['--bridge', bridge, '--pin', pinA];

  test('prints what it would load, and loads nothing', async () => {
    const before = await rulesetNow();
    const { stdout, code } = await firewall('print', ...onHost);
    expect(code).toBe(0);
    expect(stdout).toContain(`table bridge ${table} {`);
    expect(stdout).toContain(`"pa" . ${a.mac} . ${a.v4}`);
    // From the configuration: the gateway door with the ports of the policy, and the proxy that listens there.
    expect(stdout).toContain('tcp dport { 53, 80, 443, 8080, 8443 }');
    expect(stdout).toContain(`ip daddr != ${hostSide.v4} `);
    expect(await rulesetNow()).toBe(before);
  });

  test('an interface that is no bridge is not cut off', async () => {
    const before = await rulesetNow();
    const { stderr, code } = await firewall('apply', '--bridge', 'out0', '--gateway', outside.hostV4, '--port', '8080');
    expect(stderr).toContain('out0 is not a bridge');
    expect(code).not.toBe(0);
    expect(await rulesetNow()).toBe(before);
  });

  test('what it printed is what it loads', async () => {
    const printed = (await firewall('print', ...onHost)).stdout;
    const applied = await firewall('apply', ...onHost);
    expect(applied.stderr).toContain('the gateway is not running');
    expect(applied.stdout).toContain('In force');
    const live = (await ground.run('host', ['nft', '--stateless', 'list', 'table', 'bridge', table])).stdout;
    const [, checksum] = /sha256 ([0-9a-f]{64})/.exec(live)!;
    expect(printed).toContain(`sha256 ${checksum}`);
    const comments = (text: string) => [...text.matchAll(/ comment "([^"]+)"$/gm)].map(([, comment]) => comment);
    expect(comments(printed)).toEqual(expect.arrayContaining(comments(live)));
    expect(comments(live).length).toBeGreaterThan(20);
  });

  test('applied again, it leaves everything and says so, down to the handle of each rule', async () => {
    // A rule that was replaced has another handle. Counters go on by themselves: the kernel solicits routers when it likes.
    const listed = async (): Promise<string> =>
      (await ground.run('host', ['nft', '-a', 'list', 'table', 'bridge', table])).stdout.replaceAll(
        /packets \d+ bytes \d+/g,
        '',
      );
    const before = await listed();
    const again = await firewall('apply', ...onHost);
    expect(again.stdout).toContain('Already in force');
    expect(await listed()).toBe(before);
    expect(await firewall('status', ...onHost)).toMatchObject({ code: 0, stdout: expect.stringContaining('In force') });
  });

  test('another pin changes the members alone', async () => {
    const handles = async (): Promise<string[]> =>
      (await ground.run('host', ['nft', '-a', 'list', 'table', 'bridge', table])).stdout.match(
        /comment .* # handle \d+/g,
      )!;
    const before = await handles();
    expect((await firewall('status', ...onHost, '--pin', pinB)).code).toBe(1);
    expect((await firewall('apply', ...onHost, '--pin', pinB)).stdout).toContain('with other members');
    expect(await handles()).toEqual(before);
    expect(await rulesetNow()).toContain(`"pb" . ${b.mac} . ${b.v4}`);
    expect((await firewall('apply', ...onHost)).stdout).toContain('with other members');
    expect(await rulesetNow()).not.toContain(`"pb" . ${b.mac}`);
  });

  test.each([
    [
      'a rule was taken away',
      (): Promise<unknown> => ground.removeRule('bridge', 'IPv4: to another than the gateway'),
      'a rule is gone: IPv4: to another than the gateway',
    ],
    ['a rule was added', () => edit(`insert rule bridge ${table} sandbox_ip4 accept`), 'a rule was added'],
    ['a table was put to sleep', () => edit(`add table inet ${table} { flags dormant; }`), 'reads differently'],
    ['a table is gone', () => edit(`delete table inet ${table}`), `table inet ${table} is gone`],
  ])('it notices and repairs it when %s by hand', async (_name, tamper, words) => {
    const before = await rulesetNow();
    await tamper();
    expect(await rulesetNow()).not.toBe(before);
    const status = await firewall('status', ...onHost);
    expect(status.stdout).toContain(words);
    expect(status.code).toBe(1);
    const applied = await firewall('apply', ...onHost);
    expect(applied.stdout).toContain('changed by hand');
    expect(applied.stdout).toContain(words);
    expect(sorted(await rulesetNow())).toBe(sorted(before));
  });

  test('another plan takes the place of the first', async () => {
    const words = [
      '--bridge',
      bridge,
      '--gateway',
      `${gateway.v4}=${gateway.mac}@${gateway.port}`,
      '--port',
      '443',
      '--pin',
      pinA,
    ];
    expect((await firewall('apply', ...words)).stdout).toContain('it replaced other rules of Sallyport');
    expect(await rulesetNow()).toContain('chain gateway_sends');
    expect((await firewall('apply', ...onHost)).code).toBe(0);
  });

  test('watched, it follows the ports of the policy, and stays as it is while that is not valid', async () => {
    const inside = [`--target=${ground.pids.host}`, '--net', '--', process.execPath, main(), 'firewall', 'apply'];
    const watching = startClient('nsenter', [...inside, ...onHost, '--watch'], {
      env: environment(),
      timeoutMs: 60_000,
    });
    const portsAre = (ports: string) =>
      eventually(async () => (await rulesetNow()).includes(`tcp dport { 53, 80, 443, 8080, ${ports} }`), ports);
    const listen = { gateway: '192.0.2.0/24', proxy: '192.0.2.0/24:8080' };
    try {
      await portsAre('8443');
      built.writeConfig({ allow: [{ host: 'api.example.com', ports: [8443, 8444] }], listen });
      await portsAre('8443, 8444');
      built.writeConfig({ allow: 'nobody knows', listen });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      await portsAre('8443, 8444');
      // Where the gateway listens is settled when it starts.
      built.writeConfig({ allow: [{ host: 'api.example.com', ports: [8443] }], listen: { proxy: '192.0.2.1:8081' } });
      await portsAre('8443');
    } finally {
      watching.kill();
      await watching.ended;
      built.writeConfig({ allow: [{ host: 'api.example.com', ports: [8443] }], listen });
    }
  });

  test('removed, the rules of the host are what they were', async () => {
    await edit('add table inet sallyport_other { comment "of other making"; }');
    const removed = await firewall('remove', '--all');
    expect(removed.stdout).toContain(`Removed table bridge ${table}`);
    expect(removed.stdout).toContain(`Removed table inet ${table}`);
    expect(removed.stdout).not.toContain('sallyport_other');
    const left = await rulesetNow();
    expect(left).toContain('table inet theirs');
    expect(left).toContain('of other making');
    expect(left).not.toContain(table);
    await edit('delete table inet sallyport_other');
    await firewall('apply', ...onHost);
    await firewall('remove', '--bridge', bridge);
    expect(await rulesetNow()).toBe(left.replace(/table inet sallyport_other \{[^}]*\}\n/, ''));
    expect((await firewall('remove', '--bridge', bridge)).stdout).toContain('nothing to remove');
  });

  test('what was loaded is looked at: a host that does something else with it is found out', async () => {
    const nft = join(built.home, 'nft');
    const forged = join(built.home, 'forged-nft');
    copyFileSync('/usr/sbin/nft', nft);
    // It leaves a rule out, but only where it matters, not where the text is rehearsed.
    const namespace = readlinkSync(`/proc/${ground.pids.host}/ns/net`);
    const isLoading = `[ "$1" = -f ] && [ "$(readlink /proc/self/ns/net)" = "${namespace}" ]`;
    writeFileSync(forged, `#!/bin/sh\n${isLoading} || exec ${nft} "$@"\ngrep -v 'IPv4: to another' | ${nft} -f -\n`, {
      mode: 0o755,
    });
    chmodSync(nft, 0o755);
    const run = `mount --bind ${forged} /usr/sbin/nft && exec "$@"`;
    const { code, stderr } = await ground.run(
      'host',
      ['unshare', '--mount', 'sh', '-c', run, 'sh', process.execPath, main(), 'firewall', 'apply', ...onHost],
      { env: environment() },
    );
    expect(stderr).toContain('what is in force is not what was asked (tampered)');
    expect(code).toBe(1);
    await firewall('remove', '--bridge', bridge);
  });

  test('asks the gateway who is registered, also where another user runs it', async () => {
    const uid = 54321;
    const home = join(built.home, 'of-another');
    mkdirSync(home);
    chownSync(home, uid, uid);
    // The clone may lie where only root can read.
    const folder = join(built.home, 'package');
    for (const name of ['config', 'package.json', 'node_modules']) rmSync(join(folder, name));
    for (const name of ['config', 'package.json', 'node_modules/koffi', 'node_modules/@koromix']) {
      cpSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), join(folder, name), {
        recursive: true,
        dereference: true,
      });
    }
    execFileSync('chmod', ['-R', 'a+rX', built.home]);
    writeFileSync(
      join(home, 'sallyport.yaml'),
      'version: 1\nlisten: { proxy: "127.0.0.1:0" }\nallow: [{ host: api.example.com }]\n',
    );
    const env = {
      HOME: home,
      SALLYPORT_HOME: join(home, 'state'),
      SALLYPORT_CONFIG: join(home, 'sallyport.yaml'),
      NO_COLOR: '1',
    };
    const user = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', process.execPath, main()];
    const up = startClient(user[0]!, [...user.slice(1), 'up'], { env });
    try {
      const register = (...words: string[]) => runClient(user[0]!, [...user.slice(1), 'register', ...words], { env });
      await eventually(async () => (await register('--ip', a.v4, '--id', 'first')).code === 0, 'it is registered');
      const words = ['--bridge', bridge, '--gateway', hostSide.v4, '--port', '443'];
      const asked = (...more: string[]): Promise<ClientRun> =>
        ground.run('host', [process.execPath, main(), 'firewall', 'print', ...words, ...more], { env });
      expect((await asked()).stderr).toContain(
        `first: nothing of it passes: it is registered by its address ${a.v4} alone`,
      );
      expect((await asked('--pin', pinA)).stderr).toBe('');
    } finally {
      up.kill();
      await up.ended;
    }
  });

  test.each([
    [['--bridge', 'br-none', '--gateway', '192.0.2.1'], 'no bridge br-none'],
    [['--bridge', bridge, '--gateway', '192.0.2.77'], 'is not an address of'],
    [['--bridge', bridge, '--pin', '192.0.2.10=02:00:00:00:00:0a'], 'ADDRESS=MAC@PORT'],
    [['--bridge', bridge, '--pin', '192.0.2.10=02:00:00:00:00:0a@x";drop'], 'is not the name of an interface'],
    [[], 'which network?'],
  ])('says what is wrong with %j', async (words, said) => {
    const { code, stderr } = await firewall('apply', ...words);
    expect(code).toBe(1);
    expect(stderr).toContain(said);
  });

  async function edit(command: string): Promise<void> {
    await ground.load(`${command}\n`);
  }
});

/** Tables that were made anew are listed last. */
function sorted(ruleset: string): string {
  return ruleset
    .split(/^(?=table )/m)
    .sort()
    .join('');
}
