import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // By itself it leaves one core for a person: here nobody watches.
    maxWorkers: Math.max(2, availableParallelism()),
  },
});
