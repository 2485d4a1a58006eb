import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planEdit, writeEdit } from '../../../src/policy/edit/policy-file.ts';
import { thisMachine } from '../../../src/policy/load/machine-files.ts';
import { Wire } from '../../support/wire.ts';

let folder: string;
let file: string;
const machine = { ...thisMachine(), run: async () => null };
const entry = { host: 'new.example', methods: ['GET'] };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-guard-'));
  file = join(folder, 'sallyport.yaml');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a policy that is written while a sandbox runs stays out of its hands', () => {
  test('a sandbox that has the file read-only has it read-only afterwards', async () => {
    writeFileSync(file, 'version: 1\nallow:\n  - host: a.example\n');
    // As a sandbox sees a file that it must not change: a mount of its own over the one name.
    const script = [
      'mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && echo ready',
      'read _; cat "$0"; { echo "version: 1" > "$0"; } 2>/dev/null && echo written || echo refused',
    ].join('\n');
    const sandbox = spawn('unshare', ['--mount', 'sh', '-c', script, file]);
    try {
      const output = new Wire(sandbox.stdout);
      await output.until('ready\n');
      await writeEdit(await planEdit(file, [entry], machine));
      sandbox.stdin.write('\n');
      expect(await output.until('ed\n')).toBe(`${readFileSync(file, 'utf8')}refused\n`);
      expect(readFileSync(file, 'utf8')).toContain('new.example');
    } finally {
      sandbox.kill('SIGKILL');
    }
  });

  test('what changed since it was shown is not written over', async () => {
    const plan = await planEdit(file, [entry], machine);
    writeFileSync(file, 'version: 1\nallow:\n  - host: other.example\n');
    await expect(writeEdit(plan)).rejects.toThrow('has changed since it was shown');
    expect(readFileSync(file, 'utf8')).toContain('other.example');
  });

  test('mode, inode and the link that leads to it stay as they were', async () => {
    const link = join(folder, 'link.yaml');
    symlinkSync(file, link);
    chmodSync(file, 0o640);
    const before = statSync(file);
    await writeEdit(await planEdit(link, [entry], machine));
    const after = statSync(file);
    expect([after.ino, after.mode, after.uid]).toEqual([before.ino, before.mode, before.uid]);
    expect(readFileSync(file, 'utf8')).toContain('new.example');
  });
});
