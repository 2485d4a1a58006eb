// A gateway of the library that was stopped, and the next one with the same state directory: the first one touches nothing of
// it any more, says so to whoever still asks, and ends the loops that follow it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LaunchError, runSandboxed, type SallyportGateway, startGateway } from '../../src/index.ts';

let ground: string;
let home: string;
const open: SallyportGateway[] = [];
const policy = {
  version: 1,
  allow: [{ host: 'api.example.com' }],
  credentials: { mine: { hosts: ['api.example.com'], inject: { header: 'x-key' } } },
};

beforeEach(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-after-stop-'));
  home = join(ground, 'state');
});

afterEach(async () => {
  for (const gateway of open.splice(0)) await gateway.stop();
  rmSync(ground, { recursive: true, force: true });
});

async function start(): Promise<SallyportGateway> {
  const gateway = await startGateway({ config: policy, home, log: false, doors: 'sandboxes' });
  open.push(gateway);
  return gateway;
}

const folder = (name: string): string => {
  const path = join(ground, name);
  mkdirSync(path);
  return path;
};
/** What would be there after a crash. */
const kept = (): string => readFileSync(join(home, 'registry.json'), 'utf8');
const idsOf = async (gateway: SallyportGateway) => (await gateway.list()).map(({ id }) => id);
const stopped = expect.objectContaining({ name: 'LaunchError', message: 'this gateway has been stopped' });
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  );

test('what would write rejects, and the registrations of the next gateway stay as they are', async () => {
  const first = await start();
  await first.register({ id: 'a', proof: ['secret'] });
  await first.stop();
  const second = await start();
  await second.register({ id: 'b', proof: ['secret'] });
  const before = kept();
  const calls = {
    register: first.register({ id: 'c', proof: ['secret'] }),
    unregister: first.unregister('a'),
    renew: first.renew('a'),
    setCredential: first.setCredential('mine', 'a-value'),
    removeCredential: first.removeCredential('mine'),
    reload: first.reload(),
    reloadWith: first.reload(policy),
    answer: first.questions.answer('q1', { answer: 'deny' }),
    withdraw: first.questions.withdraw('a1'),
  };
  for (const [name, call] of Object.entries(calls)) expect(await rejection(call), name).toEqual(stopped);
  // Reading is no harm.
  expect(await idsOf(first)).toEqual(['a']);
  expect(await idsOf(second)).toEqual(['a', 'b']);
  expect(kept()).toBe(before);
  await second.stop();
  expect(await idsOf(await start())).toEqual(['a', 'b']);
});

test('no sandbox is started with it', async () => {
  const gateway = await start();
  await gateway.stop();
  const started = await rejection(runSandboxed({ gateway, command: ['true'], cwd: folder('project') }));
  expect(started).toEqual(stopped);
  expect((started as LaunchError).hint).toContain('startGateway');
});

test('loops that follow it end with it, and at once where it is over', async () => {
  const gateway = await start();
  const heard: string[] = [];
  const watching = (async () => {
    for await (const { event } of gateway.questions.watch(new AbortController().signal)) heard.push(event);
  })();
  const following = (async () => {
    for await (const { kind } of gateway.requests({ follow: true })) heard.push(kind);
  })();
  await gateway.stop();
  await Promise.all([watching, following]);
  for await (const _ of gateway.questions.watch(new AbortController().signal)) heard.push('after the end');
  for await (const _ of gateway.requests({ follow: true })) heard.push('after the end');
  expect(heard).toEqual([]);
});
