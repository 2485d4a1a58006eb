import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// A file that puts another module in the place of one needs modules of its own. All others share those of their worker: to
// load them anew for each file takes a third of the whole run.
const files = readdirSync(new URL('tests', import.meta.url), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `tests/${name}`);
const alone = files.filter((name) => readFileSync(new URL(name, import.meta.url), 'utf8').includes('vi.mock('));

export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 40_000 } },
    pool: 'forks',
    globalSetup: ['tests/support/whole-run.ts'],
    setupFiles: ['tests/support/each-file.ts'],
    // Many tests wait for a process or a clock: with one more than there are cores, a quarter of their time was idle.
    maxWorkers: availableParallelism() + 2,
    projects: [
      { extends: true, test: { name: 'shared', include: ['tests/**/*.test.ts'], exclude: alone, isolate: false } },
      { extends: true, test: { name: 'alone', include: alone, isolate: true } },
    ],
  },
});
