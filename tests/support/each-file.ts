// Runs before each test file (vitest.config.ts). Its hook is the first to be registered, so it is the last to run.
import { afterAll } from 'vitest';
import { endThisFile } from './after-this-file.ts';

afterAll(endThisFile);
