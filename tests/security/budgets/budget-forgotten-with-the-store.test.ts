// Attack: spend a budget where it is not counted for long: at another gateway or worker, while the store is away and the
// gateway is killed before it could tell, or before a store that comes back with nothing in it. What was spent stays spent.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askOnce } from '../../support/budget-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { basic } from '../../support/hand-made-flow.ts';
import { journalLines } from '../../support/journal-lines.ts';
import { jsonAnswer } from '../../support/pretend-provider.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../../support/spawn-gateway.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { type AdminReply, callAdmin } from '../../support/test-gateway.ts';
import { TunnelAgent } from '../../support/tunnel-client.ts';

const host = 'api.anthropic.com';
/** Each answer costs 600: the second one passes, the third does not. */
const budgets = { period: 'month', sandbox: { tokens: 1000 } };
const spent = 'budget.tokens';

interface Place {
  readonly command: BuiltCommand;
  gateway: RunningGateway;
}

let redis: RedisServer;
let upstream: FakeUpstream;
/** With two workers. */
let one: Place;
let other: Place;
const secrets = new Map<string, string>();

beforeAll(async () => {
  redis = await RedisServer.start({ persistent: true });
  const ca = makeTestCa();
  const usage = { input_tokens: 500, output_tokens: 100 };
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage };
  upstream = await startFakeUpstream(ca, [host], jsonAnswer(message));
  const policy = {
    allow: [{ preset: 'anthropic' }],
    budgets,
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
    store: `redis://127.0.0.1:${redis.port}`,
  };
  const command = buildCommand({ ...policy, listen: { proxy: '127.0.0.1:0', workers: 2 } });
  one = { command, gateway: await up(command) };
  const beside = command.beside();
  beside.writeConfig(policy);
  other = { command: beside, gateway: await up(beside) };
}, 120_000);

afterAll(async () => {
  for (const { command, gateway } of [one, other]) {
    gateway.kill('SIGKILL');
    await gateway.ended;
    command.remove();
  }
  await upstream.close();
});

async function up(command: BuiltCommand): Promise<RunningGateway> {
  const gateway = await command.up();
  await admin(command, 'PUT', '/internal/credentials/anthropic', 'sk-ant-real-0123456789');
  return gateway;
}

const admin = (command: BuiltCommand, method: string, path: string, body?: unknown): Promise<AdminReply> =>
  callAdmin(`${command.home}/state/run/admin.sock`, method, path, body);

async function register(id: string): Promise<void> {
  const reply = await admin(one.command, 'POST', '/internal/containers', { id, proof: ['secret'] });
  secrets.set(id, reply.json<{ grant: { secret: string } }>().grant.secret);
}

/** On a connection of its own: they go to the workers in turn. 200, or the code of the refusal. */
async function ask({ gateway }: Place, id: string): Promise<number | string> {
  const agent = new TunnelAgent(gateway, gateway.caPath, [`Proxy-Authorization: ${basic(id, secrets.get(id)!)}`]);
  const { status, body } = await askOnce(agent, {});
  agent.destroy();
  return status === 200 ? status : JSON.parse(body.toString()).code;
}

/** What Redis has of the tokens of this sandbox. */
async function told(id: string): Promise<number> {
  const key = await redis.cli('KEYS', `sallyport:tally:*:s:${id}:tokens`);
  const sums = key === '' ? '' : await redis.cli('HVALS', key);
  return sums.split('\n').reduce((all, sum) => all + Number(sum), 0);
}

/** How many answers its own journal has. */
function written({ command }: Place, id: string): number {
  const lines = journalLines(join(command.home, 'state', 'journal'));
  return lines.filter(({ sandbox, tokens_in }) => sandbox === id && tokens_in === 500).length;
}

async function isAway({ command }: Place): Promise<boolean> {
  const health = (await admin(command, 'GET', '/internal/health')).json<{
    controls: { name: string; live: boolean }[];
  }>();
  return health.controls.find(({ name }) => name === 'store')?.live === false;
}

test('spent in the workers of one gateway, it is spent in each of them, and at another gateway', async () => {
  await register('roaming');
  expect([await ask(one, 'roaming'), await ask(one, 'roaming')]).toEqual([200, 200]);
  await eventually(async () => (await told('roaming')) === 1200, 'both are told');
  expect(await ask(other, 'roaming')).toBe(spent);
  // A worker knows what another one has told a second later at most.
  await eventually(async () => (await ask(one, 'roaming')) === spent && (await ask(one, 'roaming')) === spent, 'both');
});

test('spent at a gateway that is killed while the store is away, it is spent when both are back', async () => {
  await register('outage');
  expect(await ask(one, 'outage')).toBe(200);
  await eventually(async () => (await told('outage')) === 600, 'it is told');
  await redis.kill();
  await eventually(() => isAway(one), 'the store is away');
  expect(await ask(one, 'outage')).toBe(200);
  await eventually(() => written(one, 'outage') === 2, 'both are in the journal');
  one.gateway.kill('SIGKILL');
  await one.gateway.ended;
  await redis.restart();
  expect(await told('outage')).toBe(600);
  one.gateway = await up(one.command);
  expect(await ask(one, 'outage')).toBe(spent);
  await eventually(async () => !(await isAway(other)), 'the other gateway has its store too');
  expect(await ask(other, 'outage')).toBe(spent);
  // Neither twice: what the process before it had told is in the journal too.
  expect(await told('outage')).toBe(1200);
  expect(await told('roaming')).toBe(600 * written(one, 'roaming'));
}, 120_000);

test('and when the store comes back with nothing in it, the journals still have it', async () => {
  await redis.cli('FLUSHALL');
  await redis.kill();
  await eventually(async () => (await isAway(one)) && (await isAway(other)), 'the store is away');
  await redis.restart();
  await eventually(async () => !(await isAway(one)) && !(await isAway(other)), 'the store is there again');
  await eventually(async () => (await told('outage')) === 1200, 'it is told again');
  for (const place of [other, one])
    expect([await ask(place, 'outage'), await ask(place, 'roaming')]).toEqual([spent, spent]);
}, 120_000);
