// What a sandbox that still runs can put in the place of what the next one is about to mount, after it was judged and before it
// is mounted. A stand-in for the program that mounts does it at the very moment, so that the race is always won.
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mount } from '../../src/sandbox/run/sandbox-plan.ts';

/** What no sandbox may get. */
export const hostSecret = 'the secret of the host';

export interface MountSwap {
  readonly what: string;
  /** `project` is a folder of the host, `at` a place in the sandbox with `folder` and `file` to mount over. */
  mounts(project: string, at: string): readonly Mount[];
  /** In Perl, in the project. */
  readonly swap: readonly string[];
  /** What the sandbox then tries, as a shell script. */
  grab(project: string, at: string): string;
}

const bind =
  (kind: 'read-only' | 'read-write', source: string, target: string) =>
  (project: string, at: string): readonly Mount[] => [
    { kind, source: join(project, source), target: join(at, target) },
  ];
const inProject =
  (kind: 'masked-file' | 'masked-folder', path: string) =>
  (project: string): readonly Mount[] => [
    { kind: 'read-write', source: project, target: project },
    { kind, target: join(project, path) },
  ];
const readAndWrite = (_: string, at: string) => `cat ${at}/folder/secret; echo planted > ${at}/folder/planted`;

export const mountSwaps: readonly MountSwap[] = [
  {
    what: 'a folder for a link',
    mounts: bind('read-write', 'open', 'folder'),
    swap: ['rename "open", "aside"', 'symlink "../private", "open"'],
    grab: readAndWrite,
  },
  {
    what: 'a folder on the way to it for a link',
    mounts: bind('read-write', 'deep/sub', 'folder'),
    swap: ['rename "deep", "aside"', 'symlink "../private", "deep"'],
    grab: readAndWrite,
  },
  {
    what: 'a folder for another of the project that is hidden',
    mounts: bind('read-write', 'open', 'folder'),
    swap: ['rename "open", "aside"', 'rename "keys", "open"'],
    grab: readAndWrite,
  },
  {
    what: 'a file for a link',
    mounts: bind('read-only', 'open/file', 'file'),
    swap: ['unlink "open/file"', 'symlink "../../private/secret", "open/file"'],
    grab: (_, at) => `cat ${at}/file`,
  },
  {
    what: 'a folder that is read-only for a link',
    mounts: bind('read-only', 'open', 'folder'),
    swap: ['rename "open", "aside"', 'symlink "../private", "open"'],
    grab: (_, at) => `cat ${at}/folder/secret`,
  },
  {
    what: 'a folder with a hidden file for another that has one of the same name',
    mounts: inProject('masked-file', 'keys/secret'),
    swap: ['rename "keys", "aside"', 'rename "decoy", "keys"'],
    grab: (project) => `cat ${project}/aside/secret`,
  },
  {
    what: 'a folder with a hidden folder for another that has one of the same name',
    mounts: inProject('masked-folder', 'vault/sub'),
    swap: ['rename "vault", "aside"', 'rename "other", "vault"'],
    grab: (project) => `cat ${project}/aside/sub/secret`,
  },
  {
    what: 'a folder with hooks for a link to a copy of it',
    mounts: (project) => [
      { kind: 'read-write', source: project, target: project },
      { kind: 'read-only', source: join(project, 'repo/hooks'), target: join(project, 'repo/hooks') },
    ],
    swap: ['rename "repo", "aside"', 'symlink "copy", "repo"'],
    grab: (project) => `echo planted > ${project}/aside/hooks/planted`,
  },
];

/** The files that the swaps are about: a project, and beside it a folder that only its owner may enter. */
export function laySwapGround(folder: string): { readonly project: string; readonly secretIsKept: () => boolean } {
  const write = (name: string, content: string): void => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  write('private/secret', hostSecret);
  write('private/sub/secret', hostSecret);
  chmodSync(join(folder, 'private'), 0o700);
  for (const name of ['open/file', 'deep/sub/secret', 'decoy/secret', 'other/sub/empty', 'copy/hooks/sample'])
    write(`project/${name}`, 'of the project');
  // The sandboxes see nothing of these.
  for (const name of ['keys/secret', 'vault/sub/secret']) write(`project/${name}`, hostSecret);
  write('project/repo/hooks/sample', 'of the project');
  const project = join(folder, 'project');
  return {
    project,
    secretIsKept: () =>
      readdirSync(join(folder, 'private')).sort().join() === 'secret,sub' &&
      readFileSync(join(folder, 'private/secret'), 'utf8') === hostSecret &&
      ['repo', 'aside'].every((name) => !listed(join(project, name, 'hooks')).includes('planted')),
  };
}

/** A program that swaps once and becomes `program`. In one process: bubblewrap takes the second of its namespace for its own. */
export function writeSwapper(
  file: string,
  given: {
    readonly project: string;
    readonly swap: readonly string[];
    readonly program: string;
    readonly when?: string;
  },
): string {
  const { project, swap, program, when = '1' } = given;
  const lines = [
    '#!/usr/bin/perl',
    `if ((${when}) && mkdir '${file}.done') {`,
    `  chdir '${project}' or exit 99;`,
    ...swap.map((step) => `  (${step}) or exit 98;`),
    `  chdir '/';`,
    '}',
    `exec '${program}', @ARGV;`,
  ];
  writeFileSync(file, lines.join('\n'), { mode: 0o755 });
  return file;
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
