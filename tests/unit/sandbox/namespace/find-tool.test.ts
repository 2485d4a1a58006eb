import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findTool, needTool } from '../../../../src/sandbox/namespace/find-tool.ts';

test('a tool is an executable file in an absolute folder of PATH, or in the system', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-tool-'));
  const before = process.cwd();
  try {
    for (const name of ['mine', 'notes', 'here']) writeFileSync(join(folder, name), '#!/bin/sh\n');
    for (const name of ['mine', 'here']) chmodSync(join(folder, name), 0o755);
    mkdirSync(join(folder, 'folder'));
    expect(findTool('mine', folder)).toBe(join(folder, 'mine'));
    expect(findTool('folder', folder)).toBeNull();
    expect(findTool('sh', '')).toMatch(/^\/.*\/sh$/);
    process.chdir(folder);
    expect([findTool('here', '.'), findTool('here', ':')]).toEqual([null, null]);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

test('one that cannot be done without is an error that says where it comes from', () => {
  expect(() => needTool('no-such-tool', 'install it')).toThrow(
    expect.objectContaining({ message: 'no-such-tool is not installed', hint: 'install it' }),
  );
});
