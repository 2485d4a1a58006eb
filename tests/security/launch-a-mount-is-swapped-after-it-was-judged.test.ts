// A sandbox that still runs puts a link, or another folder, where the next sandbox is about to mount something: after it was
// judged, before it is mounted. A stand-in for the mounting program does it at the very moment, so that the race is always won.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findTool } from '../../src/launch/find-tool.ts';
import type { Mount } from '../../src/launch/sandbox-plan.ts';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../support/launch-ground.ts';

let ground: LaunchGround;
/** The project, a file that nobody else may read, and its folder. */
let project: string;
let secret: string;

beforeEach(() => {
  ground = makeLaunchGround();
  project = join(ground.folder, 'project');
  secret = ground.write('private/secret', 'the secret of the host');
  ground.write('private/sub/secret', 'the secret of the host');
  for (const name of ['open/file', 'deep/sub/secret', 'decoy/secret'])
    ground.write(`project/${name}`, 'of the project');
  // Hidden from every sandbox.
  for (const name of ['keys/secret', 'vault/sub/secret']) ground.write(`project/${name}`, 'the secret of the host');
  ground.write('project/other/sub/empty', '');
  chmodSync(join(ground.folder, 'private'), 0o700);
  ground.write('at/folder/empty', '');
  ground.write('at/file', '');
});
afterEach(() => ground.remove());

interface Attack {
  readonly what: string;
  readonly mounts: () => readonly Mount[];
  /** In Perl, in the project. */
  readonly swap: readonly string[];
  /** What the sandbox then tries. */
  readonly grab: string;
}

const bind = (kind: 'read-only' | 'read-write', source: string, target: string): Mount => ({
  kind,
  source: join(project, source),
  target: join(ground.folder, 'at', target),
});
const theProject = (): Mount => ({ kind: 'read-write', source: project, target: project });

const attacks: readonly Attack[] = [
  {
    what: 'a folder for a link',
    mounts: () => [bind('read-write', 'open', 'folder')],
    swap: ['rename "open", "aside"', 'symlink "../private", "open"'],
    grab: 'cat at/folder/secret; echo planted > at/folder/planted',
  },
  {
    what: 'a folder on the way to it for a link',
    mounts: () => [bind('read-write', 'deep/sub', 'folder')],
    swap: ['rename "deep", "aside"', 'symlink "../private", "deep"'],
    grab: 'cat at/folder/secret; echo planted > at/folder/planted',
  },
  {
    what: 'a file for a link',
    mounts: () => [bind('read-only', 'open/file', 'file')],
    swap: ['unlink "open/file"', 'symlink "../../private/secret", "open/file"'],
    grab: 'cat at/file',
  },
  {
    what: 'a folder that is read-only for a link',
    mounts: () => [bind('read-only', 'open', 'folder')],
    swap: ['rename "open", "aside"', 'symlink "../private", "open"'],
    grab: 'cat at/folder/secret',
  },
  {
    what: 'a folder with a hidden file for another that has one of the same name',
    mounts: () => [theProject(), { kind: 'masked-file', target: join(project, 'keys/secret') }],
    swap: ['rename "keys", "aside"', 'rename "decoy", "keys"'],
    grab: 'cat project/aside/secret',
  },
  {
    what: 'a folder with a hidden folder for another that has one of the same name',
    mounts: () => [theProject(), { kind: 'masked-folder', target: join(project, 'vault/sub') }],
    swap: ['rename "vault", "aside"', 'rename "other", "vault"'],
    grab: 'cat project/aside/sub/secret',
  },
];

describe.each([
  { how: 'bubblewrap of root', order: {}, program: 'bwrap' },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid }, program: 'bwrap' },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' }, program: 'mount' },
] as const)('in $how', ({ order, program }) => {
  const run = async ({ mounts, swap, grab }: Attack) => {
    const owner = 'uid' in order ? order.uid : 0;
    execFileSync('chown', ['-R', `${owner}:${owner}`, ground.folder]);
    // In one process: bubblewrap takes the second of its namespace for its own child.
    const standIn = ground.write(
      'stand-in',
      [
        '#!/usr/bin/perl',
        `chdir '${project}' or exit 99;`,
        // Once: plain unshare calls mount for each.
        `if (mkdir '../swapped') { ${swap.map((step) => `(${step}) or exit 98;`).join(' ')} }`,
        `chdir '/'; exec '${findTool(program)}', @ARGV;`,
      ].join('\n'),
    );
    chmodSync(standIn, 0o755);
    const hidden: Mount[] =
      program === 'mount' ? [{ kind: 'masked-folder', target: join(ground.folder, 'private') }] : [];
    const empty: Mount[] = program === 'mount' ? [] : [{ kind: 'empty', target: ground.folder }];
    const planned = [...empty, ...mounts(), ...hidden];
    return await ground.run({ ...order, standIn, mounts: planned, command: ['sh', '-c', `${grab}; echo done`] });
  };

  test.each(attacks)('$what: no command is started, and nothing of the host is read or written', async (attack) => {
    const ran = await run(attack);
    expect(ran.stdout).not.toContain('the secret of the host');
    expect(ran.stdout).toBe('');
    expect(ran.told).toMatchObject({ failed: expect.stringMatching(/is not what was judged/) });
    expect(ran.told.hint).toMatch(/another sandbox/);
    expect(readdirSync(join(ground.folder, 'private')).sort()).toEqual(['secret', 'sub']);
    expect(readFileSync(secret, 'utf8')).toBe('the secret of the host');
  });

  test.each(attacks)('$what, when nothing is swapped: the command runs', async (attack) => {
    const ran = await run({ ...attack, swap: [] });
    expect(ran.told).toMatchObject({ started: true });
    expect(ran.stdout).toMatch(/done\n$/);
    expect(ran.stdout).not.toContain('the secret of the host');
  });
});

test('what the attacks are after is there to be had where nobody looks', () => {
  execFileSync('sh', ['-c', 'mv open aside && ln -s ../private open'], { cwd: project });
  expect(readFileSync(join(project, 'open/secret'), 'utf8')).toBe('the secret of the host');
});
