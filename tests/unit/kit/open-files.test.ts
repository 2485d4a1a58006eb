import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openFileLimit, openFilesWarnings, roomForConnections, roomForKept } from '../../../src/kit/open-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-files-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('how many files may be open', () => {
  test('is what the kernel says', () => {
    const soft = execFileSync('sh', ['-c', 'ulimit -S -n']).toString().trim();
    expect(String(openFileLimit())).toBe(soft);
  });

  test('is not known where the kernel says it in no form we know: then the limits of the policy are all there is', () => {
    const path = join(folder, 'limits');
    writeFileSync(path, 'Max open files            unlimited            unlimited            files\n');
    expect([openFileLimit(path), openFileLimit(join(folder, 'missing'))]).toEqual([null, null]);
    expect(roomForConnections(null)).toBe(Number.POSITIVE_INFINITY);
    expect(openFilesWarnings(null, 1, 1_000_000)).toEqual([]);
  });
});

describe('the room for connections', () => {
  test('keeps some files back, has two for each connection, and is never nothing', () => {
    expect([1024, 120, 64, 10].map(roomForConnections)).toEqual([416, 20, 8, 8]);
  });

  test('leaves an eighth for connections to upstreams that are kept', () => {
    expect([null, 1_000_000, 1024, 10].map(roomForKept)).toEqual([4096, 4096, 128, 8]);
  });

  test('that is too small for what the policy allows is told with what to do', () => {
    expect(openFilesWarnings(1024, 1, 416)).toEqual([]);
    expect(openFilesWarnings(1024, 2, 832)).toEqual([]);
    expect(openFilesWarnings(1024, 1, 10_000)[0]).toMatch(/room for 416 connections.*Raise the limit to 24160/);
  });
});
