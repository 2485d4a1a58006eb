import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  approveConfig,
  isDoubtful,
  liesInWritten,
  noteWrittenFolders,
} from '../../../../src/sandbox/traps/written-folders.ts';

let base: string;
let state: string;
let project: string;
let config: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-written-')));
  state = join(base, 'state');
  project = join(base, 'project');
  config = join(project, 'sallyport.yaml');
  mkdirSync(join(project, 'sub'), { recursive: true });
  writeFileSync(config, 'version: 1\n');
});

afterEach(() => rmSync(base, { recursive: true }));

test('a folder lies in a written one where a sandbox could exchange it: not the written one itself', () => {
  noteWrittenFolders(state, [project], []);
  expect(
    [project, join(project, 'sub'), join(project, 'sub/deep'), base].map((at) => liesInWritten(state, at)),
  ).toEqual([false, true, true, false]);
});

describe('a configuration where sandboxes write', () => {
  test('is the user’s own where no sandbox ever ran', () => {
    expect(isDoubtful(state, config)).toBe(false);
  });

  test('stays the user’s own as long as it is guarded in every run, however often the user changes it', () => {
    noteWrittenFolders(state, [project], [config]);
    writeFileSync(config, 'version: 1\nallow: []\n');
    noteWrittenFolders(state, [project], [config]);
    expect(isDoubtful(state, config)).toBe(false);
    expect(readdirSync(join(state, 'written'))).toHaveLength(1);
  });

  test('is in doubt when a sandbox could have made it, here, below, or through a link', () => {
    noteWrittenFolders(state, [project], []);
    expect(isDoubtful(state, config)).toBe(true);
    const below = join(project, 'sub', 'sallyport.yaml');
    writeFileSync(below, '');
    expect(isDoubtful(state, below)).toBe(true);
    symlinkSync(project, join(base, 'link'));
    expect(isDoubtful(state, join(base, 'link', 'sallyport.yaml'))).toBe(true);
    expect(isDoubtful(state, join(base, 'sallyport.yaml'))).toBe(false);
  });

  test('is in doubt after one run that did not guard it, even if all others do', () => {
    noteWrittenFolders(state, [project], [config]);
    noteWrittenFolders(state, [project], ['/etc/other.yaml']);
    noteWrittenFolders(state, [project], [config]);
    expect(isDoubtful(state, config)).toBe(true);
  });

  test('is out of doubt when the user has named it, until the next run that does not guard it', () => {
    noteWrittenFolders(state, [base, project], []);
    approveConfig(state, config);
    expect(isDoubtful(state, config)).toBe(false);
    noteWrittenFolders(state, [project], [config]);
    expect(isDoubtful(state, config)).toBe(false);
    noteWrittenFolders(state, [project], []);
    expect(isDoubtful(state, config)).toBe(true);
  });

  test('a note that cannot be read guards nothing', () => {
    noteWrittenFolders(state, [project], [config]);
    const [name] = readdirSync(join(state, 'written'));
    writeFileSync(join(state, 'written', name!), 'half a no');
    expect(isDoubtful(state, config)).toBe(true);
  });
});
