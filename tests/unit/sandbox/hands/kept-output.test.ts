import { mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { keepOutput, outputFile, readOutput } from '../../../../src/sandbox/hands/kept-output.ts';

test('the newest of much output is kept, in two files of bounded size', async () => {
  const state = mkdtempSync(join(tmpdir(), 'sallyport-output-'));
  mkdirSync(join(state, 'running'));
  const file = outputFile(state, 'one');
  expect(readOutput(state, 'one')).toBe(null);
  const stream = new PassThrough();
  keepOutput(file, [stream], 1_000);
  for (let i = 0; i < 500; i++) stream.write(`line ${i}\n`);
  stream.end();
  await finished(stream);
  expect(statSync(file).size).toBeLessThanOrEqual(1_000);
  expect(statSync(`${file}.1`).size).toBeLessThanOrEqual(1_000);
  expect(readOutput(state, 'one')!.toString()).toMatch(/line 498\nline 499\n$/);
});
