// A policy that is edited on a full disk. Needs root, to mount a disk that small.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { planEdit, writeEdit } from '../../src/policy/edit/policy-file.ts';
import { thisMachine } from '../../src/policy/load/machine-files.ts';

const machine = { ...thisMachine(), run: async () => null };
const entry = { host: 'new.example', methods: ['GET'] };
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-file-'));
  file = join(folder, 'sallyport.yaml');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a policy on a full disk does not lose its end, with the rules that stand there', async () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k,mode=700', 'tmpfs', folder]);
  try {
    const start = 'version: 1\nallow:\n  - host: a.example\n';
    const end = 'policy:\n  protected_branches: [main]\n';
    // As many bytes as there is room for, but one.
    const before = `${start}#${' '.repeat(8192 - start.length - end.length - 3)}\n${end}`;
    writeFileSync(file, before);
    const plan = await planEdit(file, [entry], machine);
    await expect(writeEdit(plan)).rejects.toThrow('cannot be written (ENOSPC)');
    expect(readFileSync(file, 'utf8')).toBe(before);
  } finally {
    execFileSync('umount', [folder]);
  }
});
