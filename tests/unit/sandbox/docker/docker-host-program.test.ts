import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { findHostProgram, hostProgram } from '../../../../src/sandbox/docker/docker-host-program.ts';

const real = (path: string) => `real:${path}`;

describe('a program of the host is found by what ldd prints', () => {
  test('with glibc', () => {
    const listed = `\tlinux-vdso.so.1 (0x00007ffd)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fbc)
\t/lib64/ld-linux-x86-64.so.2 (0x00007fbd)\n`;
    expect(hostProgram('/bin/cat', listed, real).at('/x')).toEqual({
      files: [
        { source: 'real:/bin/cat', target: '/x/cat' },
        { source: 'real:/lib/x86_64-linux-gnu/libc.so.6', target: '/x/libc.so.6' },
        { source: 'real:/lib64/ld-linux-x86-64.so.2', target: '/x/ld-linux-x86-64.so.2' },
      ],
      command: ['/x/ld-linux-x86-64.so.2', '--library-path', '/x', '/x/cat'],
    });
  });

  test('with musl, where the loader is the library', () => {
    const listed = `\t/lib/ld-musl-x86_64.so.1 (0x7f00)
\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f00)\n`;
    const { files, command } = hostProgram('/bin/cat', listed, real).at('/x');
    expect(files.map(({ target }) => target)).toEqual(['/x/cat', '/x/libc.musl-x86_64.so.1', '/x/ld-musl-x86_64.so.1']);
    expect(command[0]).toBe('/x/ld-musl-x86_64.so.1');
  });

  test('on NixOS, where the loader is printed with an arrow', () => {
    const listed = `\tlibc.so.6 => /nix/store/a/lib/libc.so.6 (0x7f00)
\t/nix/store/a/lib/ld-linux-x86-64.so.2 => /nix/store/b/lib64/ld-linux-x86-64.so.2 (0x7f01)\n`;
    const { files, command } = hostProgram('/run/current-system/sw/bin/cat', listed, real).at('/x');
    expect(files.at(-1)).toEqual({
      source: 'real:/nix/store/b/lib64/ld-linux-x86-64.so.2',
      target: '/x/ld-linux-x86-64.so.2',
    });
    expect(command).toEqual(['/x/ld-linux-x86-64.so.2', '--library-path', '/x', '/x/cat']);
  });

  test('without any library it is run as it is', () => {
    expect(hostProgram('/bin/cat', '', real).at('/x')).toEqual({
      files: [{ source: 'real:/bin/cat', target: '/x/cat' }],
      command: ['/x/cat'],
    });
  });

  test('a library that is missing is said', () => {
    expect(() => hostProgram('/bin/cat', '\tlibx.so.1 => not found\n', real)).toThrow('lacks a library');
  });

  test('on this machine it is a program that hands back what it is told', async () => {
    const { files, command } = (await findHostProgram('cat')).at('/x');
    const sources = new Map(files.map(({ source, target }) => [target, source]));
    const folderless = command.map((word) => sources.get(word) ?? word);
    expect(execFileSync(folderless[0]!, folderless.slice(1), { input: 'told', encoding: 'utf8' })).toBe('told');
  });
});
