// Runs once around all test files (vitest.config.ts): a folder that they share, for what is made once and used by many.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;

export function setup(): void {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-tests-'));
  process.env.SALLYPORT_TESTS = folder;
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
