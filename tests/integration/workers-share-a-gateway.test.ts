import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminClient } from '../../src/gateway/admin/admin-client.ts';
import { eventually } from '../support/eventually.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';
import {
  ask,
  host,
  keyedHost,
  registered,
  servedBy,
  startWorkersGround,
  type WorkersGround,
  workersLine,
} from '../support/workers-ground.ts';

let ground: WorkersGround;

beforeAll(async () => {
  ground = await startWorkersGround();
  await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
});

afterAll(() => ground.remove());

async function openMany(count: number): Promise<Wire[]> {
  return Promise.all(Array.from({ length: count }, () => ground.open()));
}

function close(wires: readonly Wire[]): void {
  for (const { socket } of wires) socket.destroy();
}

async function reloadWith(limits: Record<string, unknown>): Promise<void> {
  const before = ground.gateway.output().length;
  ground.writeConfig({ limits });
  ground.gateway.kill('SIGHUP');
  await eventually(() => ground.gateway.output().slice(before).includes('read again'), 'the configuration is in force');
}

async function registerAnew(id: string): Promise<void> {
  await ground.admin('DELETE', '/internal/containers/127.0.0.1');
  await registered(ground, { id, container_ip: '127.0.0.1' });
}

describe('two workers of one gateway', () => {
  test('share the port, and each request is in the one journal once', async () => {
    expect(await workersLine(ground)).toBe('2 of 2 live, restarted 0 times');
    const wires = await openMany(20);
    const answers = await Promise.all(
      wires.map(async (wire) => {
        const statuses = [];
        for (let i = 0; i < 10; i++) statuses.push(await ask(wire));
        return statuses;
      }),
    );
    expect(answers.flat()).toEqual(Array.from({ length: 200 }, () => 200));
    const asked = () => ground.journal().filter(({ method, sandbox }) => method === 'GET' && sandbox === 'one');
    await eventually(() => asked().length === 200, 'all are written down');
    expect(new Set(asked().map(({ id }) => id)).size).toBe(200);
    expect(new Set(asked().map(servedBy)).size).toBe(2);
    const verified = await ground.command.run(['audit', 'verify', '--json']);
    expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true });
    const { body } = await ground.admin('GET', '/internal/metrics');
    expect(body).toMatch(/^sallyport_requests_total\{verdict="allowed"\} 200$/m);
    close(wires);
  });

  test('who watches sees what both serve, also in a worker that was started meanwhile, and it is in the log once', async () => {
    const leave = new AbortController();
    const admin = new AdminClient(`${ground.command.home}/state/run/admin.sock`);
    const seen: Record<string, unknown>[] = [];
    const watching = (async () => {
      for await (const line of admin.lines('/internal/watch', leave.signal)) {
        const { event, data } = line as { event: string; data: Record<string, unknown> };
        if (event === 'request' && data.path === '/watched') seen.push(data);
      }
    })().catch(() => {});
    const servers = () => new Set(seen.map(servedBy));
    const askSome = async (): Promise<number> => {
      const wires = await openMany(4);
      for (const wire of wires) expect(await ask(wire, '/watched')).toBe(200);
      close(wires);
      return servers().size;
    };
    await eventually(async () => (await askSome()) === 2, 'both are seen');
    process.kill(ground.workers()[0]!, 'SIGKILL');
    await eventually(async () => (await workersLine(ground)) === '2 of 2 live, restarted once', 'it is replaced');
    await eventually(async () => (await askSome()) === 3, 'the new one is seen too');
    const logged = await ground.command.run(['logs', '--lines', '1000', '--json']);
    const records = logged.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const watched = records.filter(({ path }) => path === '/watched').map(({ id }) => id);
    // The journal may have it a moment before who watches.
    await eventually(() => seen.length >= watched.length, 'all of them were seen');
    expect(seen.map(({ id }) => id).sort()).toEqual(watched.sort());
    leave.abort();
    await watching;
  }, 60_000);

  test('a credential that is set, and removed, is so in both at once', async () => {
    const wires = await Promise.all([1, 2, 3, 4].map(() => ground.open(keyedHost)));
    const all = (): Promise<number[]> => Promise.all(wires.map((wire) => ask(wire, '/', keyedHost)));
    const before = ground.keys.length;
    expect((await ground.admin('PUT', '/internal/credentials/far', 'the-value-of-far')).status).toBe(204);
    expect(await all()).toEqual([200, 200, 200, 200]);
    expect(ground.keys.slice(before)).toEqual(Array.from({ length: 4 }, () => 'the-value-of-far'));
    expect((await ground.admin('DELETE', '/internal/credentials/far')).status).toBe(204);
    expect(await all()).toEqual([502, 502, 502, 502]);
    close(wires);
  });

  test('a private socket leads to both', async () => {
    const grant = JSON.parse(await registered(ground, { id: 'private', proof: ['socket'] })) as {
      grant?: { socket: string };
      proof?: unknown;
      socket?: string;
    };
    const socketPath = grant.grant?.socket ?? grant.socket!;
    const wires = await Promise.all(
      [1, 2, 3, 4].map(
        async () => new Wire(await openTls({ socketPath }, `${host}:443`, { caPath: ground.gateway.caPath })),
      ),
    );
    expect(await Promise.all(wires.map((wire) => ask(wire)))).toEqual([200, 200, 200, 200]);
    const served = () => ground.journal().filter(({ sandbox, method }) => sandbox === 'private' && method === 'GET');
    await eventually(() => served().length === 4, 'all are written down');
    expect(new Set(served().map(servedBy)).size).toBe(2);
    expect((await ground.admin('DELETE', '/internal/containers/private')).status).toBeLessThan(300);
    await Promise.all(wires.map((wire) => wire.rest()));
    expect(existsSync(socketPath)).toBe(false);
  });

  test('never more pass than a limit lets, whichever worker they come to, and it is used to its end', async () => {
    await reloadWith({ requests_per_minute: 1, burst: 50 });
    await registerAnew('limited');
    const wires = await openMany(17);
    const statuses = await Promise.all(
      wires.map(async (wire) => {
        const own: number[] = [];
        for (let i = 0; i < 4; i++) own.push(await ask(wire));
        return own;
      }),
    );
    const passed = statuses.flat().filter((status) => status === 200).length;
    expect(passed).toBeLessThanOrEqual(50);
    // One that was granted to a worker in the moment in which the other asked in vain may be over.
    expect(passed).toBeGreaterThanOrEqual(48);
    expect(statuses.flat().filter((status) => status === 429)).toHaveLength(68 - passed);
    close(wires);
  });

  test('exactly as many are served at once as may be', async () => {
    await reloadWith({ concurrent_requests: 5 });
    await registerAnew('crowded');
    const wires = await openMany(12);
    const heads = await Promise.all(
      wires.map(async (wire) => {
        wire.send(`GET /slow HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        return (await wire.until('\r\n\r\n')).slice(9, 12);
      }),
    );
    expect(heads.filter((status) => status === '200')).toHaveLength(5);
    expect(heads.filter((status) => status === '429')).toHaveLength(7);
    for (const response of ground.slow.splice(0)) response.end();
    close(wires);
    const again = await ground.open();
    await eventually(async () => (await ask(again)) === 200, 'there is room again');
    close([again]);
  });

  test('who is unregistered is cut off in both', async () => {
    await reloadWith({});
    await registerAnew('leaving');
    const wires = await openMany(6);
    expect(await Promise.all(wires.map((wire) => ask(wire)))).toEqual(wires.map(() => 200));
    const served = () => ground.journal().filter(({ sandbox, method }) => sandbox === 'leaving' && method === 'GET');
    await eventually(() => served().length === 6, 'all are written down');
    expect(new Set(served().map(servedBy)).size).toBe(2);
    expect((await ground.admin('DELETE', '/internal/containers/leaving')).status).toBeLessThan(300);
    await Promise.all(wires.map((wire) => wire.rest()));
    expect(wires.map(({ ended }) => ended)).not.toContain('open');
    await expect(ground.open()).rejects.toThrow(/403|407/);
  });

  test('SIGTERM lets what is under way end, in both, and then all of them are gone', async () => {
    await registered(ground, { id: 'last', container_ip: '127.0.0.1' });
    const wires = await openMany(4);
    for (const wire of wires) wire.send(`GET /slow HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await Promise.all(wires.map((wire) => wire.until('beginning ')));
    ground.gateway.kill('SIGTERM');
    await eventually(() => ground.gateway.output().includes('Letting open requests finish'), 'it is ending');
    for (const response of ground.slow.splice(0)) response.end('and end');
    const ends = await Promise.all(wires.map((wire) => wire.until('0\r\n\r\n')));
    expect(ends.map((end) => end.replace(/[^a-z ]/g, ''))).toEqual(wires.map(() => 'and end'));
    expect(await ground.gateway.ended).toBe(0);
    expect(ground.journal().filter(({ sandbox, path }) => sandbox === 'last' && path === '/slow')).toHaveLength(4);
    const verified = await ground.command.run(['audit', 'verify', '--json']);
    expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true });
  });
});
