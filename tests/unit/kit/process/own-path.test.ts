import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeToOwnPrograms, ownPath } from '../../../../src/kit/process/own-path.ts';

let ground: string;

beforeAll(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-path-'));
  mkdirSync(join(ground, 'project', 'bin'), { recursive: true });
  symlinkSync(join(ground, 'project', 'bin'), join(ground, 'link'));
});

afterAll(() => rmSync(ground, { recursive: true, force: true }));

describe('the PATH for our own programs in the process of another', () => {
  test('is that of the process while no sandbox could write to any of it', () => {
    expect(ownPath()).toBe(process.env.PATH);
    expect(ownPath('/usr/bin:/somewhere')).toBe('/usr/bin:/somewhere');
  });

  test('leads into no folder that a sandbox can write to, by whatever name, and that of the process stays', () => {
    const before = process.env.PATH;
    closeToOwnPrograms([join(ground, 'project')]);
    const path = [join(ground, 'project', 'bin'), join(ground, 'link'), '/usr/bin'].join(':');
    expect(ownPath(path)).toBe('/usr/bin');
    expect(process.env.PATH).toBe(before);
  });
});
