import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { PageClient } from '../support/page-client.ts';
import {
  makeRunGround,
  type RunGround,
  type RunningCommand,
  type RunUser,
  readableByAll,
} from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const user: RunUser = 'an ordinary user';
let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.example.com', 'api.github.com'], (request, response) =>
    response.end(`answer to ${request.url}\n`),
  );
  ground = makeRunGround({
    listen: { proxy: '127.0.0.1:0' },
    allow: [{ host: 'api.example.com' }, { preset: 'github' }],
    upstream: {
      ca: readableByAll(ca.path),
      resolve: { 'api.example.com': upstream.address, 'api.github.com': upstream.address },
    },
  });
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

const list = async (): Promise<{ id: string; proof: string[]; repos: string[] }[]> =>
  JSON.parse((await ground.sallyport(user, ['list', '--json'])).stdout);

/** Starts a run that goes on until a file appears in the project, and waits until it has begun. */
async function startWaiting(options: readonly string[], name: string): Promise<RunningCommand> {
  const script = `curl -sS https://api.example.com/${name}; touch begun-${name}; until [ -e end-${name} ]; do sleep 0.05; done; curl -sS https://api.example.com/${name}-again`;
  const running = ground.start(user, ['run', ...options, '--', 'sh', '-c', script]);
  await eventually(
    () => existsSync(join(ground.projectOf(user), `begun-${name}`)),
    `${name} begins: ${running.output()}`,
  );
  return running;
}

const end = (name: string) =>
  ground.sallyport(user, ['run', '--', 'touch', join(ground.projectOf(user), `end-${name}`)]);

describe('sallyport run beside other gateways', () => {
  test('joins a running one with --gateway, where it is listed with its own rights until it ends', async () => {
    const up = ground.start(user, ['up', '--json']);
    try {
      await eventually(() => up.output().includes('adminSocket'), 'the gateway is up');
      const one = await startWaiting(['--gateway', '--id', 'one', '--repo', 'octo/one'], 'joined');
      expect(await list()).toMatchObject([{ id: 'one', proof: ['socket'], repos: ['octo/one'] }]);
      // Another sandbox of the same gateway has other rights, and the same questions get other answers.
      const script = 'for r in one two; do curl -sS https://api.github.com/repos/octo/$r; done';
      const two = await ground.sallyport(user, ['run', '--gateway', '--repo', 'octo/two', '--', 'sh', '-c', script]);
      expect(two.stdout).toContain('"code":"repo.not-allowed"');
      expect(two.stdout).toContain('answer to /repos/octo/two');
      expect(two.stdout).not.toContain('answer to /repos/octo/one');
      await end('joined');
      expect(await one.ended).toBe(0);
      expect(one.output()).toContain('answer to /joined-again');
      expect(await list()).toEqual([]);
    } finally {
      up.kill('SIGTERM');
      expect(await up.ended).toBe(0);
    }
  });

  test('says what to do when there is none to join', async () => {
    const { code, stderr } = await ground.sallyport(user, ['run', '--gateway', '--', 'true']);
    expect(code).toBe(4);
    expect(stderr).toContain('sallyport up');
  });

  test('works while another run has the state directory, and each keeps its own journal', async () => {
    const first = await startWaiting([], 'first');
    const second = await ground.sallyport(user, ['run', '--', 'curl', '-sS', 'https://api.example.com/second']);
    expect(second.stdout).toBe('answer to /second\n');
    await end('first');
    expect(await first.ended).toBe(0);
    expect(first.output()).toContain('answer to /first-again');
    const paths = ground.journal(user).map(({ path }) => path);
    for (const path of ['/first', '/second', '/first-again']) expect(paths).toContain(path);
  });

  test('serves a page of its own on request, and says where before the command starts', async () => {
    const running = await startWaiting(['--dashboard', '--id', 'looked-at'], 'page');
    const before = running.output().slice(0, running.output().indexOf('answer to /page'));
    const address = /dashboard (http:\S+\/enter\?token=\S+) \(good for one visit\)/.exec(before)?.[1];
    const page = await PageClient.enter(address ?? 'http://127.0.0.1:1');
    expect((await page.get('/')).status).toBe(200);
    expect((await page.state()).sandboxes.map(({ id }) => id)).toEqual(['looked-at']);
    await end('page');
    expect(await running.ended).toBe(0);
  });

  test('is passed the signals that are sent to it, and ends with the command', async () => {
    const script = 'trap "echo got-it; exit 7" TERM; touch begun-signal; while :; do sleep 0.05; done';
    const running = ground.start(user, ['run', '--', 'sh', '-c', script]);
    await eventually(() => existsSync(join(ground.projectOf(user), 'begun-signal')), 'it begins');
    running.kill('SIGTERM');
    expect(await running.ended).toBe(7);
    expect(running.output()).toBe('got-it\n');
    expect(readdirSync(join(ground.stateOf(user), 'sandboxes'))).toEqual([]);
  });
});
