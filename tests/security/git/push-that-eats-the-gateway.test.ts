// A push that is small on the wire and costs the one who judges it all its memory, or its time while others wait. The worst
// packs we could write, against a gateway with little memory: each is refused in words or judged, the gateway stays, and it
// goes on answering others meanwhile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHungryGround, type Toll } from '../../support/hungry-ground.ts';
import {
  chainOfWideDirectories,
  commitsOfManyParents,
  deepDirectory,
  deltasOnNothing,
  folderOfDirectories,
  type HungryPack,
  mergeOfOneParent,
  mergeOfWideDirectories,
  sameDirectoryAgain,
} from '../../support/hungry-packs.ts';
import { honestPack, zeroId } from '../../support/raw-push.ts';

const heapMib = 500;
/** The heap may be filled as far as it goes; what is outside of it is the gateway itself and buffers. */
const mostMib = 700;
/** On a machine that does other things too. */
const longestStallMs = 1_500;
const longestCpuMs = 60_000;

let ground: Awaited<ReturnType<typeof openHungryGround>>;

beforeAll(async () => {
  ground = await openHungryGround(heapMib);
});

afterAll(() => ground.stop());

function expectBounded(toll: Toll): void {
  console.info(
    `${expect.getState().currentTestName}: ${toll.code} ${Math.round(toll.stallMs)} ms stall, ${Math.round(toll.peakMib)} MiB, ${toll.cpuMs} ms`,
  );
  expect(toll.isAlive).toBe(true);
  expect(toll.stallMs).toBeLessThan(longestStallMs);
  expect(toll.peakMib).toBeLessThan(mostMib);
  expect(toll.cpuMs).toBeLessThan(longestCpuMs);
}

describe('what costs too much is refused, and the gateway stays', () => {
  const cases: [string, string, () => HungryPack][] = [
    ['a merge that names one parent a thousand times', 'limit.push-work', () => mergeOfOneParent(200_000, 1_000)],
    ['a merge that names one parent forty times', 'git.malformed', () => mergeOfOneParent(200_000, 40)],
    ['a merge of forty wide directories', 'limit.push-work', () => mergeOfWideDirectories(200_000, 40)],
    ['commits with a thousand parents each', 'limit.push-work', () => commitsOfManyParents(8_000, 1_000)],
    [
      'commits with as many parents as may be, none of them here',
      'limit.push-work',
      () => commitsOfManyParents(20_000, 64),
    ],
    ['one directory in itself, again and again', 'limit.push-work', () => sameDirectoryAgain(2_000, 6)],
    ['directories in directories, ever deeper', 'limit.push-work', () => deepDirectory(60_000)],
    ['a hundred thousand deltas on nothing', 'push.undecided', () => deltasOnNothing(100_000)],
  ];

  test.each(cases)('%s', async (_, code, make) => {
    const { tip, pack } = make();
    const toll = await ground.push(tip, pack);
    expectBounded(toll);
    expect(toll.code).toBe(code);
    expect(toll.text).toContain('ng refs/heads/sly');
    expect(toll.text).toContain('What to do:');
    expect(ground.upstream.pushes).toEqual([]);
    expect(ground.spooled()).toEqual([]);
  });
});

describe('what is only large is judged', () => {
  test('a folder of two hundred thousand new directories', async () => {
    const { tip, pack } = folderOfDirectories(200_000);
    const toll = await ground.push(tip, pack, 'refs/heads/wide');
    expectBounded(toll);
    expect(toll.code).toBeNull();
    expect(toll.text).toContain('unpack ok');
  });

  test('a directory of fifty thousand entries in forty commits', async () => {
    const { tip, pack } = chainOfWideDirectories(50_000, 40);
    const toll = await ground.push(tip, pack, 'refs/heads/long');
    expectBounded(toll);
    expect(toll.code).toBeNull();
    expect(toll.text).toContain('unpack ok');
  });

  test('a merge of sixty-four', async () => {
    const { tip, pack } = mergeOfWideDirectories(500, 64);
    const toll = await ground.push(tip, pack, 'refs/heads/octopus');
    expectBounded(toll);
    expect(toll.code).toBeNull();
    expect(toll.text).toContain('unpack ok');
  });
});

describe('a push that its commands refuse', () => {
  test('is refused without a look into its pack', async () => {
    const { tip, pack } = chainOfWideDirectories(100_000, 200);
    const toll = await ground.push(tip, pack, 'refs/heads/main', ground.main);
    expectBounded(toll);
    expect(toll.code).toBe('push.protected-branch');
    // Judged, the same pack costs many times that.
    expect(toll.cpuMs).toBeLessThan(1_000);
    expect(ground.upstream.pushes).toEqual([]);
  });
});

describe('the gateway goes on', () => {
  test('an honest push passes', async () => {
    const next = await ground.bare.commit({ branch: 'refs/made/next', parents: [ground.main], files: { n: 'n\n' } });
    const toll = await ground.push(
      next,
      await honestPack(ground.bare, [next], [ground.main]),
      'refs/heads/fine',
      zeroId,
    );
    expect(toll.code).toBeNull();
    expect(await ground.bare.tip('fine')).toBe(next);
  });
});
