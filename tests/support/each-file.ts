// Runs before each test file (vitest.config.ts). Its hook is the first to be registered, so it is the last to run.
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { endThisFile } from './after-this-file.ts';
import { fuzzSeed } from './fuzz-seed.ts';

fc.configureGlobal({ seed: fuzzSeed });
afterAll(endThisFile);
