// SIGKILL of the launching process at any moment leaves no process, no mount and no namespace: there is nobody left who
// could clean up, so the kernel must.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  type LaunchGround,
  type LaunchOrder,
  makeLaunchGround,
  ordinaryUid,
  processesIn,
  processesNaming,
} from '../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

const ways = [
  { how: 'bubblewrap of root', order: {} },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid } },
  { how: 'namespaces of root', order: { launcher: 'namespaces' } },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' } },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' } },
] as const;

/** Runs everywhere in its sandbox what would like to stay: in another session, deaf to every signal but one. */
const stubborn = (mark: string): readonly string[] => [
  'bash',
  '-c',
  `trap "" HUP INT TERM QUIT; setsid sleep ${mark} & sleep ${mark} & wait`,
];

describe.each(ways)('the launching process of $how is killed', ({ order }) => {
  const start = (more: Omit<LaunchOrder, 'command'>, mark: string) =>
    ground.start({ ...order, ...more, command: stubborn(mark) });
  const mountsBefore = readFileSync('/proc/self/mountinfo', 'utf8').includes('sallyport-launch-');

  test('while the namespace waits for its door', async () => {
    const { child, told } = start({ stopAt: 'prepared' }, '301.1');
    const { namespace } = await told();
    expect(processesIn(String(namespace)).length).toBeGreaterThan(1);
    child.kill('SIGKILL');
    await eventually(() => processesIn(String(namespace)).length === 0, 'the holder is gone');
  });

  test('while the command runs', async () => {
    const { child, told } = start({}, '302.1');
    const { namespace } = await told();
    expect(await told()).toMatchObject({ started: true });
    await eventually(() => processesNaming('302.1').length >= 2, 'the command runs');
    child.kill('SIGKILL');
    await eventually(() => processesIn(String(namespace)).length === 0, 'everything in the namespace is gone');
    await eventually(() => processesNaming('302.1').length === 0, 'no process of it is left anywhere');
  });

  test('at any moment from its first to its last', async () => {
    const mark = '303.1';
    // From before the namespace exists to after the command runs; a few at a time.
    for (const delayMs of [40, 55, 65, 75, 85, 95, 105, 120, 140]) {
      const { child } = start({}, mark);
      const gone = new Promise((resolve) => child.once('exit', resolve));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill('SIGKILL');
      await gone;
    }
    await eventually(() => processesNaming(mark).length === 0, 'no process is left');
    expect(readFileSync('/proc/self/mountinfo', 'utf8').includes('sallyport-launch-')).toBe(mountsBefore);
  });
});
