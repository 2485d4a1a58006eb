// `sallyport doctor` as it is installed: from outside and from inside a real sandbox, well and unwell.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { runClient } from '../support/run-client.ts';
import { makeRunGround, type RunGround, type RunUser } from '../support/run-ground.ts';

interface Told {
  readonly ok: boolean;
  readonly findings: readonly { area: string; name: string; state: string; says: string; fix: string | null }[];
}

let ground: RunGround;
beforeAll(() => {
  ground = makeRunGround({ listen: { proxy: '127.0.0.1:0' }, allow: [{ host: 'allowed.example' }] });
});
afterAll(() => ground.remove());

/** What the system has, without the tools of the user whose tests these are: their home is another here. */
const systemPath = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

/** A program in front of all others in the PATH. */
function inFront(user: RunUser, name: string, script: string): Record<string, string> {
  const folder = join(ground.homeOf(user), `${name}-in-front`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
  return { PATH: `${folder}:${systemPath}` };
}

function read(
  stdout: string,
): Told & { readonly failed: readonly Told['findings'][number][]; well: readonly string[] } {
  const told = JSON.parse(stdout) as Told;
  const inside = told.findings.filter(({ area }) => area === 'Inside a sandbox');
  const well = inside.filter(({ state }) => state === 'ok').map(({ name }) => name);
  return { ...told, failed: told.findings.filter(({ state }) => state === 'fail'), well };
}

const common = ['sandbox', 'git', 'node', 'openssl', 'python3 urllib'];

describe('every runtime that is there makes a real request', () => {
  test('as an ordinary user: all get their answer through the door', { timeout: 120_000 }, async () => {
    const options = { env: { PATH: systemPath }, timeoutMs: 110_000 };
    const { code, stdout, stderr } = await ground.sallyport('an ordinary user', ['doctor', '--json'], options);
    const { ok, findings, failed, well } = read(stdout);
    expect(failed).toEqual([]);
    expect({ ok, code, stderr }).toEqual({ ok: true, code: 0, stderr: '' });
    expect(well).toEqual(expect.arrayContaining([...common, 'curl']));
    for (const { name, state, fix } of findings) if (state === 'warn') expect(fix, name).not.toBeNull();
  });

  test('as root: one that is broken is named with why and what to do, and it ends with 1', {
    timeout: 120_000,
  }, async () => {
    const own = mkdtempSync(join(ground.homeOf('root'), 'tmp-'));
    const script = 'echo "curl: (60) SSL certificate problem: self-signed certificate" >&2; exit 60';
    const env = { ...inFront('root', 'curl', script), TMPDIR: own };
    const { code, stdout } = await ground.sallyport('root', ['doctor', '--json'], { env, timeoutMs: 110_000 });
    const { ok, failed, well } = read(stdout);
    expect({ ok, code }).toEqual({ ok: false, code: 1 });
    expect(failed).toEqual([
      {
        area: 'Inside a sandbox',
        name: 'curl',
        state: 'fail',
        says: expect.stringMatching(/^does not trust the CA of the sandbox: curl: \(60\)/),
        fix: expect.stringContaining('it trusts through CURL_CA_BUNDLE or SSL_CERT_FILE'),
      },
    ]);
    expect(well).toEqual(expect.arrayContaining(common));
    expect(readdirSync(own)).toEqual([]);
  });
});

describe('what does not work', () => {
  test('a sandbox that cannot be started is a finding, beside all others', async () => {
    const { code, stdout } = await ground.sallyport('root', ['doctor', '--launcher', 'unshare']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}fail {2}sandbox +none could be started: plain unshare does not contain root/m);
    expect(stdout).toMatch(/^ +fix +use bubblewrap/m);
    expect(stdout).toMatch(/^ {2}ok {4}namespaces +a test namespace was made/m);
    expect(stdout.trimEnd()).toMatch(/\n1 thing does not work: \d+ ok/);
  });

  test('a state directory that is open to others', async () => {
    mkdirSync(join(ground.homeOf('root'), 'open'), { mode: 0o755 });
    const env = { SALLYPORT_HOME: join(ground.homeOf('root'), 'open') };
    const { code, stdout } = await ground.sallyport('root', ['doctor', '--outside'], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ {2}fail {2}directory +.*open/m);
  });
});

describe('beside a gateway that runs', () => {
  let stop: () => Promise<unknown>;
  let id: string;
  beforeAll(async () => {
    const gateway = ground.start('an ordinary user', ['up']);
    stop = () => {
      gateway.kill('SIGTERM');
      return gateway.ended;
    };
    await eventually(() => (gateway.output().includes('Sallyport is up') ? true : null), 'the gateway is up');
    const { stdout } = await ground.sallyport('an ordinary user', ['register', '--json']);
    const grant = JSON.parse(stdout) as { id: string; grant: { secret: string; proxy_url: string } };
    id = grant.id;
    const proxy = grant.grant.proxy_url.replace('//', `//${id}:${grant.grant.secret}@`);
    await runClient('curl', ['-sk', '-x', proxy, 'https://foreign.example/secret-plans']);
  });
  afterAll(() => stop());
  const doctor = (...args: string[]) => ground.sallyport('an ordinary user', ['doctor', ...args]);

  test('it is asked which controls are live in that process', async () => {
    const { code, stdout } = await doctor('--outside');
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/^ {2}ok {4}running +version \d+\.\d+\.\d+, 1 sandbox, /m);
    expect(stdout).toMatch(/^ {2}ok {4}path +accept -> identify -> authorize -> inject -> forward/m);
    expect(stdout).toMatch(/^ {2}ok {4}journal +record \d+, hash-chained/m);
    expect(stdout).not.toContain('Inside a sandbox');
  });

  test('of one sandbox it tells the registration, and what would make its last refusal pass', async () => {
    const { code, stdout } = await doctor('--sandbox', id);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(id);
    expect(stdout).toMatch(/^ {2}ok {4}door +the proxy door.*proof: secret/m);
    expect(stdout).toMatch(/GET foreign\.example\/secret-plans: foreign\.example is not on the allowlist/);
    expect(stdout).toMatch(/- host: foreign\.example$/m);
  });

  test('a sandbox that nobody knows ends it with 1', async () => {
    const { code, stderr } = await doctor('--sandbox', 'sbx_nobody');
    expect(code).toBe(1);
    expect(stderr).toContain('no sandbox is registered as sbx_nobody');
  });
});
