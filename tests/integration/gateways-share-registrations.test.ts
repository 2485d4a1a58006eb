import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  askPlain,
  beginSlow,
  type KnownSandbox,
  type PlainUpstream,
  startPlainUpstream,
} from '../support/plain-upstream.ts';
import { RedisServer } from '../support/redis-server.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { type AdminReply, callAdmin } from '../support/test-gateway.ts';

const burst = 30;
let redis: RedisServer;
let upstream: PlainUpstream;
const commands: BuiltCommand[] = [];
const gateways: RunningGateway[] = [];

beforeAll(async () => {
  redis = await RedisServer.start({ persistent: true });
  upstream = await startPlainUpstream();
  commands[0] = buildCommand({
    ...upstream.policy,
    limits: { requests_per_minute: 60, burst },
    store: { url: `redis://127.0.0.1:${redis.port}`, grace_seconds: 6 },
  });
  gateways[0] = await commands[0].up();
  commands[1] = commands[0].beside();
  gateways[1] = await commands[1].up();
}, 120_000);

afterAll(async () => {
  for (const gateway of gateways) gateway.kill('SIGKILL');
  await Promise.all(gateways.map(({ ended }) => ended));
  await upstream.close();
  for (const command of commands.reverse()) command.remove();
});

function admin(which: 0 | 1, method: string, path: string, body?: unknown): Promise<AdminReply> {
  return callAdmin(`${commands[which]!.home}/state/run/admin.sock`, method, path, body);
}

async function registerAt(which: 0 | 1, id: string): Promise<KnownSandbox> {
  const reply = await admin(which, 'POST', '/internal/containers', { id, proof: ['secret'] });
  if (reply.status !== 201) throw new Error(`register: ${reply.status} ${reply.body}`);
  return { id, secret: reply.json<{ grant: { secret: string } }>().grant.secret };
}

async function verdictAt(which: 0 | 1, sandbox: KnownSandbox): Promise<string> {
  const { statuses, code } = await askPlain(gateways[which]!, sandbox);
  return `${statuses.join()} ${code ?? ''}`.trim();
}

describe('any gateway serves any sandbox', () => {
  test('registered at one, served by the other at once, and listed there with its own', async () => {
    const sandbox = await registerAt(0, 'one');
    expect(await verdictAt(1, sandbox)).toBe('200');
    expect((await admin(1, 'GET', '/internal/containers/one')).json()).toMatchObject({ id: 'one', proof: ['secret'] });
  });

  test('unregistered at one, its connections at the other are cut, and it is unknown there', async () => {
    const sandbox = await registerAt(0, 'two');
    const open = await beginSlow(gateways[1]!, sandbox);
    expect((await admin(0, 'DELETE', '/internal/containers/two')).status).toBe(204);
    expect(await verdictAt(1, sandbox)).toBe('403 sandbox.unknown');
    await open.rest();
    expect(open.ended).not.toBe('open');
  });

  test('a limit holds for both together', async () => {
    const sandbox = await registerAt(1, 'noisy');
    const before = performance.now();
    const all = await Promise.all(
      Array.from({ length: 2 * burst + 20 }, (_, index) => verdictAt((index % 2) as 0 | 1, sandbox)),
    );
    const seconds = (performance.now() - before) / 1000;
    const allowed = all.filter((verdict) => verdict === '200').length;
    // 60 a minute: one more with each second.
    expect(allowed).toBeLessThanOrEqual(burst + Math.ceil(seconds));
    expect(allowed).toBeGreaterThanOrEqual(burst / 2);
    expect(new Set(all)).toEqual(new Set(['200', '429 limit.rate']));
  });
});

describe('without Redis', () => {
  test('who is known is served for the time of grace, everybody else is refused in words; with it again, all is well', async () => {
    const [met, unmet] = [await registerAt(0, 'met'), await registerAt(0, 'unmet')];
    const open = await beginSlow(gateways[1]!, met);
    await redis.kill();
    expect(await verdictAt(1, unmet)).toBe('500 store.unavailable');
    expect(await verdictAt(1, met)).toBe('200');
    const refused = await admin(0, 'POST', '/internal/containers', { id: 'late' });
    expect([refused.status, refused.json().code]).toEqual([503, 'store.unavailable']);
    const unregistered = await commands[1]!.run(['unregister', 'unmet']);
    expect([unregistered.code, unregistered.stdout]).toEqual([0, 'Unregistered unmet\n']);
    expect(unregistered.stderr).toContain('Not confirmed by: all other gateways');
    await eventually(async () => (await verdictAt(1, met)) === '500 store.unavailable', 'the grace is over', 30_000);
    await open.rest();
    await redis.restart();
    await eventually(async () => (await verdictAt(1, met)) === '200', 'it is served again');
    // What was unregistered meanwhile is so everywhere now.
    await eventually(async () => (await verdictAt(0, unmet)) === '403 sandbox.unknown', 'it is gone');
    expect(await verdictAt(0, await registerAt(1, 'late'))).toBe('200');
  }, 120_000);
});

describe('one of them dies', () => {
  test('the other goes on, with what was registered there too, and takes new ones', async () => {
    const sandbox = await registerAt(0, 'orphan');
    gateways[0]!.kill('SIGKILL');
    await gateways[0]!.ended;
    expect(await verdictAt(1, sandbox)).toBe('200');
    expect(await verdictAt(1, await registerAt(1, 'new'))).toBe('200');
    const gone = await admin(1, 'DELETE', '/internal/containers/orphan');
    expect([200, 204]).toContain(gone.status);
    expect(await verdictAt(1, sandbox)).toBe('403 sandbox.unknown');
  });

  test('and comes back under its name, when the heartbeat it had is over', async () => {
    gateways[1]!.kill('SIGKILL');
    await gateways[1]!.ended;
    gateways[1] = await commands[1]!.up();
    expect(await verdictAt(1, await registerAt(1, 'after'))).toBe('200');
  });
});
