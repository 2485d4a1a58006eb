// Random numbers that can be had again: the seed is printed by whoever uses them, and taken from SALLYPORT_SEED.
import { fuzzSeed } from './fuzz-seed.ts';

export function seededRandom(given = process.env.SALLYPORT_SEED): {
  readonly random: () => number;
  readonly seed: number;
} {
  const seed = given === undefined ? fuzzSeed : Number(given);
  let state = seed | 0;
  // mulberry32
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { random, seed };
}
