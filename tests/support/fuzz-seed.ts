// The seed of all that is drawn by chance in tests: the same everywhere, so that a run says something about the change it is a
// run of. Others with FUZZ_SEED (a number, or `random`).

const given = process.env.FUZZ_SEED;
/** 31 bits, as fast-check takes them. */
export const fuzzSeed =
  given === undefined ? 20_261_116 : given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
