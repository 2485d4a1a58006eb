import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { planEdit, writeEdit } from '../../../../src/policy/edit/policy-file.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';

const machine = { ...thisMachine(), run: async () => null };
const entry = { host: 'new.example', methods: ['GET'] };
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-file-'));
  file = join(folder, 'sallyport.yaml');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a policy that cannot be written stays what it was', () => {
  test('bytes that are no text are not replaced by marks', async () => {
    const before = Buffer.from('version: 1 # caf\xe9\nallow:\n  - host: a.example\n', 'latin1');
    writeFileSync(file, before);
    await expect(writeEdit(await planEdit(file, [entry], machine))).rejects.toThrow('is not text in UTF-8');
    expect(readFileSync(file)).toEqual(before);
  });
});
