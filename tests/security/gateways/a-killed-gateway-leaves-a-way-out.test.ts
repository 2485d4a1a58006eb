import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { makeRunGround, type RunGround, type RunUser, readableByAll, runUsers } from '../../support/run-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';

let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.example.com'], (_request, response) => response.end('an answer\n'));
  ground = makeRunGround({
    listen: { proxy: '127.0.0.1:0' },
    allow: [{ host: 'api.example.com' }],
    upstream: { ca: readableByAll(ca.path), resolve: { 'api.example.com': upstream.address } },
  });
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

/** Processes that have the mark in their environment or command line, whoever they belong to. */
function processesWith(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const text = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1')).join('\0');
        return text.includes(mark);
      } catch {
        return false;
      }
    });
}

/** Of this machine, without what other tests mount meanwhile in temporary folders of their own. */
function mounts(): string[] {
  const [ours] = relative(tmpdir(), ground.projectOf('root')).split('/');
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => {
      const [, place = ''] = line.split(' ');
      return !place.startsWith(`${tmpdir()}/`) || place.startsWith(join(tmpdir(), ours!));
    });
}

const project = (user: RunUser, name: string): string => join(ground.projectOf(user), name);

describe.each(runUsers)('when the gateway is killed under a sandbox of %s', (user) => {
  test('and lives in the same command, nothing of the sandbox is left, and the next start cleans up', async () => {
    const mark = `mark-${process.pid}-${user.length}`;
    const before = mounts();
    const script = `curl -sS https://api.example.com/; (setsid sleep 300 &); nohup sleep 300 & touch ${mark}; exec sleep 300`;
    const running = ground.start(user, ['run', '--env', `MARK=${mark}`, '--', 'sh', '-c', script]);
    await eventually(() => existsSync(project(user, mark)), `it begins: ${running.output()}`);
    await eventually(() => processesWith(`MARK=${mark}`).length >= 3, 'its three processes run');
    running.kill('SIGKILL');
    await running.ended;
    await eventually(() => processesWith(mark).length === 0, 'every process of it is gone');
    expect(mounts()).toEqual(before);
    const folders = join(ground.stateOf(user), 'sandboxes');
    expect(readdirSync(folders)).toHaveLength(1);
    await ground.sallyport(user, ['run', '--', 'true']);
    expect(readdirSync(folders)).toEqual([]);
  });

  test('and is another process, the sandbox lives on without any way out', async () => {
    const up = ground.start(user, ['up', '--json']);
    await eventually(() => up.output().includes('adminSocket'), 'the gateway is up');
    const [begun, killed, done] = ['begun', 'killed', 'done'].map((name) => `${name}-${user.length}`);
    const script = [
      'curl -sS https://api.example.com/ ; touch "$1"',
      'until [ -e "$2" ]; do sleep 0.05; done',
      'curl -sS -m 3 https://api.example.com/; echo "by name $?"',
      'curl -sS -m 3 --resolve api.example.com:443:198.18.0.1 https://api.example.com/; echo "by address $?"',
      'curl -sS -m 3 -x http://127.0.0.1:3128 https://api.example.com/; echo "by proxy $?"',
      'curl -sS -m 3 http://203.0.113.9/; echo "plain $?"',
      'touch "$3"',
    ].join('\n');
    const args = ['run', '--gateway', '--', 'sh', '-c', script, 'sh', begun!, killed!, done!];
    const running = ground.start(user, args);
    await eventually(() => existsSync(project(user, begun!)), `it begins: ${running.output()}`);
    expect(running.output()).toContain('an answer');
    up.kill('SIGKILL');
    await up.ended;
    await ground.sallyport(user, ['run', '--', 'touch', killed!]);
    await running.ended;
    expect(existsSync(project(user, done!))).toBe(true);
    // No name: nobody answers on 53. No address: nobody listens, and the kernel says so at once.
    for (const end of ['by name 6', 'by address 7', 'by proxy 7', 'plain 7']) expect(running.output()).toContain(end);
    expect(running.output().match(/an answer/g)).toHaveLength(1);
  });
});
