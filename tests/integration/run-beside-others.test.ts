import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

const end = (name: string): void => writeFileSync(join(ground.projectOf(user), `end-${name}`), '');

/** Processes that are a gateway of this state directory. */
function gatewaysOf(state: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const [words, variables] = ['cmdline', 'environ'].map((file) =>
        readFileSync(`/proc/${name}/${file}`, 'utf8').split('\0'),
      );
      return words!.includes('background') && variables!.includes(`SALLYPORT_HOME=${state}`) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

function theGateway(): number {
  const found = gatewaysOf(ground.stateOf(user));
  expect(found).toHaveLength(1);
  return found[0]!;
}

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
      end('joined');
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

  test('is one gateway with another run: one list, one journal, and each with its own rights', async () => {
    const first = await startWaiting(['--id', 'first', '--repo', 'octo/one'], 'first');
    const gateway = theGateway();
    const script =
      'for r in one two; do curl -sS https://api.github.com/repos/octo/$r; done; touch "$1"; until [ -e end-second ]; do sleep 0.05; done';
    const begun = join(ground.projectOf(user), 'begun-second');
    const args = ['run', '--id', 'second', '--repo', 'octo/two', '--', 'sh', '-c', script, 'sh', begun];
    const second = ground.start(user, args);
    await eventually(() => existsSync(begun), `the second begins: ${second.output()}`);
    expect(theGateway()).toBe(gateway);
    expect(second.output()).toContain('"code":"repo.not-allowed"');
    expect(second.output()).toContain('answer to /repos/octo/two');
    expect((await list()).map(({ id, repos }) => [id, repos])).toEqual([
      ['first', ['octo/one']],
      ['second', ['octo/two']],
    ]);
    const set = await ground.sallyport(user, ['secret', 'set', 'github'], {
      input: 'ghp_0123456789abcdef0123456789abcdef0123',
    });
    expect(set.code).toBe(0);
    expect((await ground.sallyport(user, ['secret', 'list'])).stdout).toMatch(/github +set/);
    end('first');
    expect(await first.ended).toBe(0);
    // The one that has started it is gone, and it stays for the other.
    expect(first.output()).toContain('answer to /first-again');
    expect(theGateway()).toBe(gateway);
    expect((await list()).map(({ id }) => id)).toEqual(['second']);
    end('second');
    expect(await second.ended).toBe(0);
    const { stdout } = await ground.sallyport(user, ['logs', '--json', '-n', '100']);
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { sandbox: string; path: string });
    const asked = told.filter(({ sandbox, path }) => /^(first|second)$/.test(sandbox) && path === '/repos/octo/one');
    expect(asked.map(({ sandbox }) => sandbox)).toEqual(['second']);
    expect(told.some(({ path }) => path === '/first-again')).toBe(true);
    // Nothing of it outlives the last run.
    expect(gatewaysOf(ground.stateOf(user))).toEqual([]);
  });

  test('with another configuration it has a gateway of its own, and every command knows both', async () => {
    const first = await startWaiting(['--id', 'usual'], 'usual');
    const other = join(ground.homeOf(user), 'other.yaml');
    writeFileSync(other, 'version: 1\nallow: [{ host: other.example.com }]\n');
    const args = ['run', '--config', other, '--id', 'strict', '--', 'sh', '-c'];
    const script =
      'curl -sS https://api.example.com/strict; touch begun-strict; until [ -e end-strict ]; do sleep 0.05; done';
    const second = ground.start(user, [...args, script]);
    await eventually(() => existsSync(join(ground.projectOf(user), 'begun-strict')), `it begins: ${second.output()}`);
    // Never under the policy of the first, which allows it.
    expect(second.output()).toContain('"code":"domain.not-allowed"');
    expect((await list()).map(({ id }) => id).sort()).toEqual(['strict', 'usual']);
    const refused = await ground.sallyport(user, ['logs', '--refused', '--sandbox', 'strict']);
    expect(refused.stdout).toContain('api.example.com/strict');
    const asked = ['check', 'GET', 'https://other.example.com/', '--sandbox'];
    expect((await ground.sallyport(user, [...asked, 'strict'])).code).toBe(0);
    expect((await ground.sallyport(user, [...asked, 'usual'])).code).toBe(3);
    for (const name of ['usual', 'strict']) end(name);
    expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
    // Also when neither lives any more.
    const later = await ground.sallyport(user, ['logs', '--refused', '--sandbox', 'strict']);
    expect(later.stdout).toContain('api.example.com/strict');
    const doctor = await ground.sallyport(user, ['doctor', '--outside', '--json']);
    const findings = (JSON.parse(doctor.stdout) as { findings: { name: string; says: string }[] }).findings;
    expect(findings.find(({ name }) => name === 'leftovers')?.says).toBe('none');
  });

  test('a gateway that is killed is told at once, and both sandboxes go on with the next', async () => {
    const runs = await Promise.all(['killed-one', 'killed-two'].map((name) => startWaiting(['--id', name], name)));
    const gateway = theGateway();
    process.kill(gateway, 'SIGKILL');
    for (const run of runs)
      await eventually(
        () => run.output().includes('a gateway serves this sandbox again'),
        `it goes on: ${run.output()}`,
      );
    expect(theGateway()).not.toBe(gateway);
    expect((await list()).map(({ id }) => id).sort()).toEqual(['killed-one', 'killed-two']);
    for (const name of ['killed-one', 'killed-two']) end(name);
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0]);
    for (const [at, run] of runs.entries()) {
      expect(run.output()).toContain(`the gateway has ended (process ${gateway})`);
      // The same name, the same certificate authority, the same door.
      expect(run.output()).toContain(`answer to /killed-${['one', 'two'][at]}-again`);
    }
  });

  test('serves a page of its own on request, and says where before the command starts', async () => {
    const running = await startWaiting(['--dashboard', '--id', 'looked-at'], 'page');
    const before = running.output().slice(0, running.output().indexOf('answer to /page'));
    const address = /dashboard (http:\S+\/enter\?token=\S+) \(good for one visit\)/.exec(before)?.[1];
    const page = await PageClient.enter(address ?? 'http://127.0.0.1:1');
    expect((await page.get('/')).status).toBe(200);
    expect((await page.state()).sandboxes.map(({ id }) => id)).toEqual(['looked-at']);
    end('page');
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
