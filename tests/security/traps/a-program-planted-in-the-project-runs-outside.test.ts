import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pathOutside } from '../../../src/kit/process/path-outside.ts';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

const planted = ['git', 'gh', 'npm', 'bwrap', 'nsenter', 'unshare', 'setpriv', 'ip', 'sh', 'cat', 'node', 'docker'];
const escaped = mkdtempSync(join(tmpdir(), 'sallyport-escaped-'));
let ground: RunGround;
let bin: string;

beforeAll(() => {
  ground = makeRunGround({ allow: [{ preset: 'npm' }, { preset: 'github' }] });
  bin = join(ground.projectOf('root'), 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  for (const name of planted) {
    const script = `#!/bin/sh\n/usr/bin/touch ${escaped}/${name} 2>/dev/null\necho planted-${name}\n`;
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  }
});

afterAll(() => {
  ground.remove();
  rmSync(escaped, { recursive: true });
});

describe('programs that a sandbox left in its project', () => {
  test('are found inside, as npx and npm run want it, and never started outside', async () => {
    const { stdout, code } = await ground.sallyport('root', ['run', '--', '/bin/sh', '-c', 'git; gh; command -v ip'], {
      env: { PATH: `${bin}:node_modules/.bin:${process.env.PATH}` },
    });
    expect(stdout).toBe(`planted-git\nplanted-gh\n${join(bin, 'ip')}\n`);
    expect(code).toBe(0);
    expect(planted.filter((name) => existsSync(join(escaped, name)))).toEqual([]);
  });

  test('started outside, they would have been seen', () => {
    execFileSync(join(bin, 'git'));
    expect(existsSync(join(escaped, 'git'))).toBe(true);
  });

  test('a folder that leads into the project, or is not there yet, is left out like the project itself', () => {
    const link = join(escaped, 'link');
    symlinkSync(bin, link);
    const project = ground.projectOf('root');
    const path = ['/usr/bin', bin, link, project, join(project, 'later'), '', '.', 'bin', `${project}-not`].join(':');
    expect(pathOutside(path, [project])).toBe(`/usr/bin:${project}-not`);
    expect(pathOutside(path, [])).toBe(
      ['/usr/bin', bin, link, project, join(project, 'later'), `${project}-not`].join(':'),
    );
  });
});
