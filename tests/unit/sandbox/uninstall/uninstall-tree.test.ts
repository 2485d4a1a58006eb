import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OpenFolder } from '../../../../src/sandbox/uninstall/uninstall-tree.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-tree-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function removeTree(name: string): void {
  const open = OpenFolder.open(folder);
  try {
    open.removeTree(name);
  } finally {
    open.close();
  }
}

describe('a tree is removed whole', () => {
  test('however deep it is: more levels than descriptors would reach', () => {
    const path = 'd/'.repeat(600);
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'leaf'), '');
    removeTree('d');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('with names that are not text, and with folders that nobody may write to', () => {
    mkdirSync(join(folder, 'd', 'closed', 'below'), { recursive: true });
    writeFileSync(join(folder, 'd', 'closed', 'below', 'file'), '');
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/d/`), Buffer.from([0xff, 0xfe, 0x0a])]), '');
    for (const path of ['closed/below', 'closed']) chmodSync(join(folder, 'd', path), 0o500);
    removeTree('d');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a name that is not there is no failure', () => {
    expect(() => removeTree('nothing')).not.toThrow();
  });
});

describe('a link is removed and never followed', () => {
  test('the folder it leads to keeps what is in it', () => {
    mkdirSync(join(folder, 'precious'));
    writeFileSync(join(folder, 'precious', 'letter'), '');
    mkdirSync(join(folder, 'd'));
    symlinkSync('../precious', join(folder, 'd', 'link'));
    removeTree('d');
    expect(readdirSync(folder)).toEqual(['precious']);
    expect(existsSync(join(folder, 'precious', 'letter'))).toBe(true);
  });

  test('nothing is opened through a link', () => {
    mkdirSync(join(folder, 'd'));
    symlinkSync('d', join(folder, 'link'));
    expect(() => OpenFolder.open(join(folder, 'link'))).toThrow();
    const open = OpenFolder.open(folder);
    expect(() => open.enter('link')).toThrow();
    open.close();
  });

  test('a folder that was opened is the one that is emptied, whatever its name leads to by then', () => {
    for (const name of ['d', 'precious']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'letter'), '');
    }
    const open = OpenFolder.open(join(folder, 'd'));
    renameSync(join(folder, 'd'), join(folder, 'elsewhere'));
    symlinkSync('precious', join(folder, 'd'));
    open.removeTree('letter');
    open.close();
    expect(existsSync(join(folder, 'precious', 'letter'))).toBe(true);
    expect(existsSync(join(folder, 'elsewhere', 'letter'))).toBe(false);
  });
});
