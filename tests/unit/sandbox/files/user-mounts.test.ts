import { describe, expect, test } from 'vitest';
import { checkTarget, parseMount } from '../../../../src/sandbox/files/user-mounts.ts';

const places = { cwd: '/work/project', home: '/home/dev' };

describe('what is asked for with --mount and --ro', () => {
  test.each([
    ['/data', '/data', '/data'],
    ['../other', '/work/other', '/work/other'],
    ['~/notes', '/home/dev/notes', '/home/dev/notes'],
    ['/data:/mnt/data', '/data', '/mnt/data'],
    ['./a/../b:~/b/', '/work/project/b', '/home/dev/b'],
  ])('%s', (text, source, target) => {
    expect(parseMount(text, 'read-only', places)).toEqual({ mode: 'read-only', source, target });
  });

  test.each(['', ':', '/a:', ':/b', '/a:/b:ro', '/a:relative', '/a\0b'])('%j is refused', (text) => {
    expect(() => parseMount(text, 'read-write', places)).toThrow(/--mount/);
  });
});

describe('where in the sandbox it may go', () => {
  const taken = { home: '/home/dev', workingDirectory: '/work/project', bound: ['/sallyport', '/etc/hosts'] };
  const check = (target: string) => checkTarget({ mode: 'read-only', source: '/data', target }, taken);

  test.each(['/mnt/data', '/opt/tool', '/home/dev/notes', '/work/project/data', '/work/other', '/srv', '/tmp/data'])(
    '%s is free',
    (target) => {
      expect(() => check(target)).not.toThrow();
    },
  );

  test.each([
    ['/', /would cover/],
    ['/usr/local/bin', /belongs to the system/],
    ['/etc/ssl/certs', /belongs to the system/],
    ['/lib', /belongs to the system/],
    ['/proc/1', /belongs to the system/],
    ['/dev', /belongs to the system/],
    ['/run/x', /belongs to the system/],
    ['/opt', /would cover the system/],
    ['/home/dev', /would cover the sandbox's home/],
    ['/home', /would cover the sandbox's home/],
    ['/work', /would cover the working directory/],
    ['/work/project', /would cover the working directory/],
    ['/tmp', /would cover the sandbox's \/tmp/],
    ['/sallyport', /a file that the sandbox needs/],
    ['/mnt/../usr', /not a plain absolute path/],
  ])('%s is taken', (target, reason) => {
    expect(() => check(target)).toThrow(reason);
  });
});
