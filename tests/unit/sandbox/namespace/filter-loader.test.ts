import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFilterLoader } from '../../../../src/sandbox/namespace/plain-unshare.ts';
import { seccompProgram } from '../../../../src/sandbox/namespace/seccomp.ts';

const attempt = 'import socket\ntry: socket.socket(40); print("open")\nexcept OSError as e: print(e.errno)';

test.each(['perl', 'python3'])('%s loads the filter, and an empty one stops it', (only) => {
  const loader = findFilterLoader(3, (name) => (name === only ? `/usr/bin/${name}` : null));
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-filter-'));
  const load = (filter: Buffer) => {
    const file = join(folder, 'filter');
    writeFileSync(file, filter);
    const descriptor = openSync(file, 'r');
    const [program, ...args] = [...loader!, '/usr/bin/python3', '-c', attempt];
    const run = spawnSync(program!, args, { stdio: ['ignore', 'pipe', 'pipe', descriptor], encoding: 'utf8' });
    closeSync(descriptor);
    return run;
  };
  try {
    expect(load(seccompProgram(process.arch)).stdout).toBe('97\n');
    const none = load(Buffer.alloc(0));
    expect([none.stdout, none.status === 0]).toEqual(['', false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('with neither there is none', () => {
  expect(findFilterLoader(3, () => null)).toBeNull();
});
