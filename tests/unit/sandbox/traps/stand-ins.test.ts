import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { layGuards } from '../../../../src/sandbox/traps/stand-ins.ts';

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'sallyport-stand-ins-'));
  mkdirSync(join(top, 'project'));
  mkdirSync(join(top, 'private'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const standIn = (path: string, text: string | null = '# a place that is kept\n') => ({ path: join(top, path), text });

describe('a stand-in', () => {
  test('is made, with its folder first, and goes at the end', () => {
    const guards = layGuards([standIn('project/info', null), standIn('project/info/attributes')], [], []);
    expect(readFileSync(join(top, 'project/info/attributes'), 'utf8')).toBe('# a place that is kept\n');
    expect(guards.end({ keepStandIns: false })).toEqual([]);
    expect(readdirSync(join(top, 'project'))).toEqual([]);
  });

  test('is not made through a link in the place of its folder, and what was made before it goes', () => {
    symlinkSync('private', join(top, 'open'));
    expect(() => layGuards([standIn('project/sallyport.yaml'), standIn('open/sallyport.yaml')], [], [])).toThrow(
      `what was to be mounted at ${top}/open/sallyport.yaml changed after it was checked`,
    );
    expect(readdirSync(join(top, 'private'))).toEqual([]);
    expect(readdirSync(join(top, 'project'))).toEqual([]);
  });

  test('is not made where a folder on the way to it is a link', () => {
    mkdirSync(join(top, 'private/open'));
    symlinkSync('private', join(top, 'way'));
    expect(() => layGuards([standIn('way/open/sallyport.yaml')], [], [])).toThrow('changed after it was checked');
    expect(readdirSync(join(top, 'private/open'))).toEqual([]);
  });

  test('is an error where its folder is gone: the sandbox would start without it', () => {
    expect(() => layGuards([standIn('gone/sallyport.yaml')], [], [])).toThrow('changed after it was checked');
  });

  test('leaves what is there, and what somebody else has put in its place', () => {
    writeFileSync(join(top, 'project/sallyport.yaml'), 'version: 1\n');
    layGuards([standIn('project/sallyport.yaml')], [], []).end({ keepStandIns: false });
    expect(readFileSync(join(top, 'project/sallyport.yaml'), 'utf8')).toBe('version: 1\n');
    const guards = layGuards([standIn('project/kept')], [], []);
    rmSync(join(top, 'project/kept'));
    writeFileSync(join(top, 'project/kept'), 'by hand');
    guards.end({ keepStandIns: false });
    expect(existsSync(join(top, 'project/kept'))).toBe(true);
  });
});
