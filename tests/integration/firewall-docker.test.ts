import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DockerWorld, startDockerWorld } from '../support/docker-world.ts';
import { eventually } from '../support/eventually.ts';
import type { ClientRun, StartedClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

/** A pretend gateway: it answers on 443, and knows registrations that the test writes down. */
const sallyport = '#!/usr/bin/sh\nexec /usr/bin/cat /registrations.json\n';
const source = 'IPv4: the source is not registered with this MAC on this port';

describe('the firewall of a Docker network', () => {
  let world: DockerWorld;
  let built: BuiltCommand;
  let table: string;
  let before: string;
  let watching: StartedClient | null = null;

  beforeAll(async () => {
    built = buildCommand({ allow: [{ host: 'api.example.com' }] });
    world = await startDockerWorld();
    await world.importImage('sandbox', {
      programs: ['sh', 'sleep', 'cat', 'chmod'],
      texts: { '/usr/bin/sallyport': sallyport },
    });
    await docker('network', 'create', '--internal', '--subnet', '192.0.2.0/24', 'sandboxes');
    const id = (await docker('network', 'inspect', '--format', '{{.Id}}', 'sandboxes')).stdout.trim();
    table = `sallyport_br_${id.slice(0, 12)}`;
    for (const name of ['gateway', 'first', 'second']) {
      await docker('run', '--detach', '--name', name, '--network', 'sandboxes', 'sandbox', '/usr/bin/sleep', '600');
    }
    await docker('exec', 'gateway', '/usr/bin/chmod', '755', '/usr/bin/sallyport');
    world.start('nsenter', [`--net=/proc/${await pidOf('gateway')}/ns/net`, 'python3', '-c', answering]);
    before = await ruleset();
  }, 180_000);
  afterAll(async () => {
    watching?.kill();
    await world?.stop();
    built?.remove();
  }, 120_000);

  const docker = async (...words: string[]): Promise<ClientRun> => {
    const run = await world.docker(...words);
    expect(run.stderr, words.join(' ')).toBe('');
    return run;
  };
  const inspect = async (name: string, format: string): Promise<string> =>
    (await docker('inspect', '--format', format, name)).stdout.trim();
  const pidOf = (name: string): Promise<string> => inspect(name, '{{.State.Pid}}');
  const addressOf = (name: string): Promise<string> =>
    inspect(name, '{{.NetworkSettings.Networks.sandboxes.IPAddress}}');
  const ruleset = async (): Promise<string> => (await world.run('nft', ['--stateless', 'list', 'ruleset'])).stdout;
  const refused = async (): Promise<number> => {
    const { stdout } = await world.run('nft', ['list', 'chain', 'bridge', table, 'sandbox_ip4']);
    return Number(new RegExp(`counter packets (\\d+) bytes \\d+ drop comment "${source}"`).exec(stdout)![1]);
  };
  /** `seconds`: few where it may be that nobody answers. */
  const ask = async (name: string, seconds = 20): Promise<string> => {
    const inside = [`--net=/proc/${await pidOf(name)}/ns/net`, 'python3', '-c', asking];
    return (await world.run('nsenter', [...inside, await addressOf('gateway'), String(seconds)])).stdout.trim();
  };
  const register = async (...names: readonly string[]): Promise<void> => {
    const records = await Promise.all(
      names.map(async (name) => ({
        id: name,
        container_id: await inspect(name, '{{.Id}}'),
        container_ip: await addressOf(name),
      })),
    );
    await docker('exec', 'gateway', '/usr/bin/sh', '-c', `echo '${JSON.stringify(records)}' > /registrations.json`);
  };
  const words = () => [
    '--network',
    'sandboxes',
    '--gateway-container',
    'gateway',
    '--port',
    '443',
    '--docker',
    world.socket,
  ];
  const main = () => join(built.home, 'package', 'dist', 'main.cjs');
  const firewall = (...more: string[]): Promise<ClientRun> =>
    world.run(process.execPath, [main(), 'firewall', ...more], { env: { HOME: built.home, NO_COLOR: '1' } });

  test('finds the bridge, the gateway and the ports of its sandboxes by itself', async () => {
    await register('first');
    await eventually(async () => (await ask('second')) === 'answer', 'the gateway listens');
    const applied = await firewall('apply', ...words());
    expect(applied.stderr).toBe('');
    expect(applied.stdout).toContain(`In force: table bridge ${table}`);
    expect(applied.stdout).toContain('1 sandbox address may speak');
    expect(await ask('first')).toBe('answer');
    expect(await firewall('status', ...words())).toMatchObject({ code: 0 });
  });

  test('the second one is refused by the rule that looks for its registration', async () => {
    // Its kernel asks for the gateway first, and is refused that: so it is told where the gateway is.
    const mac = await inspect('gateway', '{{.NetworkSettings.Networks.sandboxes.MacAddress}}');
    const inside = [
      `--net=/proc/${await pidOf('second')}/ns/net`,
      'ip',
      'neighbour',
      'replace',
      await addressOf('gateway'),
    ];
    await world.run('nsenter', [...inside, 'lladdr', mac, 'dev', 'eth0']);
    const count = await refused();
    expect(await ask('second', 1)).toBe('timed out');
    expect(await refused()).toBeGreaterThan(count);
  });

  test('watched, it follows the registrations, a restarted container and a hand that meddles', async () => {
    watching = world.start(process.execPath, [main(), 'firewall', 'apply', ...words(), '--watch'], {
      env: { HOME: built.home, NO_COLOR: '1' },
    });
    await register('first', 'second');
    await eventually(async () => (await ask('second', 1)) === 'answer', 'the second is let in');

    // It has another cable now, and perhaps another address: it is registered anew, as the witness does.
    await docker('restart', '--time', '0', 'second');
    await register('first', 'second');
    await eventually(async () => (await ask('second', 1)) === 'answer', 'the second is let in again');

    await register('second');
    await eventually(async () => (await ask('first', 1)) === 'timed out', 'the first is let in no more');

    await world.run('nft', ['delete', 'table', 'inet', table]);
    await eventually(async () => (await ruleset()).includes(`table inet ${table}`), 'it is back');
    watching.kill();
    await watching.ended;
    expect(await ask('second')).toBe('answer');
  }, 180_000);

  test('removed, the rules of the host are what they were, those of Docker among them', async () => {
    const removed = await firewall('remove', '--network', 'sandboxes', '--docker', world.socket);
    expect(removed.stdout).toContain(`Removed table bridge ${table}`);
    expect(await ruleset()).toBe(before);
    expect(await ask('first')).toBe('answer');
  });
});

const answering = `import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('0.0.0.0', 443)); s.listen(20)
while True:
    c, peer = s.accept(); c.sendall(b'answer'); c.close()`;

const asking = `import socket, sys
try: print(socket.create_connection((sys.argv[1], 443), int(sys.argv[2])).recv(100).decode())
except OSError as e: print(e)`;
