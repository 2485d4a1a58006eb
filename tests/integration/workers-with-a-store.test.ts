// A gateway with two workers on a Redis: what one worker knows of a sandbox holds in the other, also while Redis is away.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { askPlain, type KnownSandbox, type PlainUpstream, startPlainUpstream } from '../support/plain-upstream.ts';
import { RedisServer } from '../support/redis-server.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';
import { callAdmin } from '../support/test-gateway.ts';

let redis: RedisServer;
let upstream: PlainUpstream;
let command: BuiltCommand;
let gateway: RunningGateway;

beforeAll(async () => {
  redis = await RedisServer.start({});
  upstream = await startPlainUpstream();
  command = buildCommand({
    ...upstream.policy,
    listen: { proxy: '127.0.0.1:0', workers: 2 },
    store: { url: `redis://127.0.0.1:${redis.port}`, grace_seconds: 60 },
  });
  gateway = await command.up();
}, 120_000);

afterAll(async () => {
  gateway.kill('SIGKILL');
  await gateway.ended;
  await upstream.close();
  command.remove();
});

const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(`${command.home}/state/run/admin.sock`, method, path, body);

async function register(id: string): Promise<KnownSandbox> {
  const reply = await admin('POST', '/internal/containers', { id, proof: ['secret'] });
  return { id, secret: reply.json<{ grant: { secret: string } }>().grant.secret };
}

/** Each on a connection of its own: they go to the workers in turn. */
async function verdicts(sandbox: KnownSandbox, count: number): Promise<string[]> {
  const all: string[] = [];
  for (let i = 0; i < count; i++) {
    const { statuses, code } = await askPlain(gateway, sandbox);
    all.push(`${statuses.join()} ${code ?? ''}`.trim());
  }
  return all;
}

async function isAway(): Promise<boolean> {
  const { controls } = (await admin('GET', '/internal/health')).json<{ controls: { name: string; live: boolean }[] }>();
  return controls.find(({ name }) => name === 'store')?.live === false;
}

describe('workers of one gateway on a shared store', () => {
  test('one that any worker has identified is served by all while Redis is away; a stranger by none', async () => {
    const [met, never] = [await register('met'), await register('never')];
    expect(await verdicts(met, 1)).toEqual(['200']);
    // A worker says what it has served a moment after it has.
    const isTold = async () => (await admin('GET', '/internal/audit')).body.includes(`"sandbox":"${met.id}"`);
    await eventually(isTold, 'the gateway knows that it was served');
    await redis.kill();
    await eventually(isAway, 'the store is away');
    expect(await verdicts(met, 4)).toEqual(['200', '200', '200', '200']);
    expect(new Set(await verdicts(never, 4))).toEqual(new Set(['500 store.unavailable']));
  });
});
