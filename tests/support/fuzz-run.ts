// How the fuzz tests run: a fixed number of inputs from a fixed seed, so that they are the same everywhere; more with
// FUZZ_RUNS, others with FUZZ_SEED (a number, or `random`). A failing input is made smaller and printed with the way back.
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { fuzzSeed } from './fuzz-seed.ts';

const asked = process.env.FUZZ_RUNS === undefined ? null : Number(process.env.FUZZ_RUNS);

/** For tests that run longer than usual on purpose; 0: no limit. */
export const fuzzTimeoutMs = asked === null ? 120_000 : 0;

/** One input that takes longer than this has hung. */
const caseTimeoutMs = 40_000;

let tried = 0;

/** Call once in a file: says at its end how much was tried. */
export function reportFuzz(what: string): void {
  tried = 0;
  afterAll(() => {
    console.info(`fuzz: ${what}: ${tried} inputs, seed ${fuzzSeed}`);
  });
}

function settings(runs: number, share: number): { seed: number; numRuns: number; errorWithCause: true } {
  // A target that costs a connection per input gets a share of what the fast ones get.
  return { seed: fuzzSeed, numRuns: asked === null ? runs : Math.ceil(asked * share), errorWithCause: true };
}

/** `isFine` throws, or returns false, where a promise is broken. */
export function fuzz<T>(inputs: fc.Arbitrary<T>, runs: number, isFine: (input: T) => unknown): void {
  const property = fc.property(inputs, (input) => {
    tried++;
    return isFine(input) !== false;
  });
  told(() => fc.assert(property, settings(runs, 1)));
}

export async function fuzzSlowly<T>(
  inputs: fc.Arbitrary<T>,
  runs: number,
  isFine: (input: T) => Promise<unknown>,
): Promise<void> {
  const property = fc.asyncProperty(inputs, async (input) => {
    tried++;
    return (await isFine(input)) !== false;
  });
  try {
    await fc.assert(property, { ...settings(runs, 0.01), timeout: caseTimeoutMs, endOnFailure: asked === null });
  } catch (error) {
    throw explained(error);
  }
}

function told(run: () => void): void {
  try {
    run();
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return new Error(`to see it again: FUZZ_SEED=${fuzzSeed} npx vitest run tests/security/fuzz\n${message}`, {
    cause: error instanceof Error ? error.cause : undefined,
  });
}
