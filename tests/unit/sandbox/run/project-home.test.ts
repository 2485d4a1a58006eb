import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openProjectHome } from '../../../../src/sandbox/run/project-home.ts';

let base: string;
let places: { projectHomes: string; sharedHome: string };
const project = (name: string): string => {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  return folder;
};

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-homes-'));
  places = { projectHomes: join(base, 'homes'), sharedHome: join(base, 'home') };
});

afterEach(() => rmSync(base, { recursive: true }));

describe('the home that is kept', () => {
  test('is another one for each project, and the same for one, however it is spelled', async () => {
    const one = await openProjectHome(places, project('a/tool'));
    const other = await openProjectHome(places, project('b/tool'));
    symlinkSync(join(base, 'a'), join(base, 'link'));
    const spelled = await openProjectHome(places, join(base, 'link', 'tool'));
    expect(other.folder).not.toBe(one.folder);
    expect(spelled.folder).toBe(one.folder);
    expect(one.folder.startsWith(join(base, 'homes', 'tool-'))).toBe(true);
    expect([...one.notices, ...other.notices]).toEqual([]);
  });

  test('begins as a copy of the one that all projects shared: it is said once, and nothing is lost', async () => {
    mkdirSync(join(places.sharedHome, '.claude'), { recursive: true });
    writeFileSync(join(places.sharedHome, '.claude', 'notes'), 'kept');
    symlinkSync('/etc/passwd', join(places.sharedHome, 'link'));
    execFileSync('mkfifo', [join(places.sharedHome, 'pipe')]);
    for (const name of ['one', 'two']) {
      const { folder, notices } = await openProjectHome(places, project(name));
      expect(notices).toEqual([expect.stringContaining(`delete ${places.sharedHome}`)]);
      expect(readFileSync(join(folder, '.claude', 'notes'), 'utf8')).toBe('kept');
      expect(readlinkSync(join(folder, 'link'))).toBe('/etc/passwd');
      expect(readdirSync(folder)).not.toContain('pipe');
      expect((await openProjectHome(places, project(name))).notices).toEqual([]);
    }
    expect(readFileSync(join(places.sharedHome, '.claude', 'notes'), 'utf8')).toBe('kept');
    expect(readdirSync(places.projectHomes)).toHaveLength(2);
  });
});
