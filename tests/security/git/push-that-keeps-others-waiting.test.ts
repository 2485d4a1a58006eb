// A push that takes little memory and much time: others are served while it is judged, and it ends. Each piece of work that
// grows with a pack gives up its turn, so what others wait hangs on the machine and not on the pack.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openHungryGround, type Toll } from '../../support/hungry-ground.ts';
import {
  deepDirectoryMoved,
  deltasOfSingleBytes,
  latticeOfCommits,
  latticeOfMerges,
  longNames,
  widestDirectory,
} from '../../support/hungry-histories.ts';
import type { HungryPack } from '../../support/hungry-packs.ts';

const mostMib = 700;
/** Of a processor that others use too. What may be worked through in one push takes half of that. */
const longestCpuMs = 60_000;
/** With the heap nearly full, V8 itself takes some of it to clean up. */
const longestStallMs = 600;

let ground: Awaited<ReturnType<typeof openHungryGround>>;

beforeAll(async () => {
  ground = await openHungryGround(500);
});

beforeEach(() => ground.restart());

afterAll(() => ground.stop());

function expectBounded(toll: Toll): void {
  console.info(
    `${expect.getState().currentTestName}: ${toll.code} ${Math.round(toll.stallMs)} ms stall (machine ${Math.round(toll.machineMs)} ms), ${Math.round(toll.peakMib)} MiB, ${toll.cpuMs} ms`,
  );
  expect(toll.isAlive).toBe(true);
  expect(toll.stallMs).toBeLessThan(longestStallMs + 4 * toll.machineMs);
  expect(toll.peakMib).toBeLessThan(mostMib);
  expect(toll.cpuMs).toBeLessThan(longestCpuMs);
}

describe('others are served while it is judged', () => {
  const cases: [string, string | null, () => HungryPack][] = [
    ['a lattice of thirty thousand merges', null, () => latticeOfCommits(30_000, 64)],
    ['merges that take a protected file', 'push.protected-path', () => latticeOfMerges(1_200, 64, [ground.main])],
    ['directories made byte by byte', null, () => deltasOfSingleBytes(8, 10_000_000)],
    ['the widest directory that is looked into', 'limit.push-work', widestDirectory],
    ['names as long as can be', 'limit.push-work', () => longNames(150, 430, 16_000)],
    ['a deep directory that each commit moves', 'limit.push-work', () => deepDirectoryMoved(1_700, 60)],
  ];

  test.each(cases)('%s', async (_, code, make) => {
    const { tip, pack } = make();
    const toll = await ground.push(tip, pack);
    expectBounded(toll);
    expect(toll.code).toBe(code);
    expect(ground.spooled()).toEqual([]);
  });
});
