// The repository in the working directory: git must work in it, and the sandbox must not leave anything in it that runs on
// the host afterwards. Hooks and settings are read-only; what else git acts on is compared after the command (host-traps.ts).
import { dirname, resolve } from 'node:path';
import type { HostFiles } from '../files/host-files.ts';
import { judgeMount } from '../files/judge-mount.ts';
import { joined, liesIn } from '../files/path-relations.ts';
import type { DangerSurvey } from '../files/survey-dangers.ts';
import { type GitConfigAccess, type GitGuards, type GitMount, gitGuards, type StandIn } from './git-guards.ts';
import { gitModules, hasTooManyModules } from './git-modules.ts';

const maxBytes = 1024 * 1024;
const maxModules = 40;

export function gitMounts(
  workingDirectory: string,
  survey: DangerSurvey,
  files: HostFiles,
  access: GitConfigAccess = 'read-only',
): GitGuards {
  const pointer = joined(workingDirectory, '.git');
  switch (files.look(pointer)?.kind) {
    case 'folder':
      return protectRepository(pointer, files, access);
    case 'file': {
      const { mounts, ...rest } = followPointer(pointer, survey, files, access);
      // Else a folder with settings of its own could be put in its place.
      return { ...rest, mounts: [...mounts, { kind: 'read-only', path: pointer }] };
    }
    case 'link':
      return only(`${pointer} is a link: git does not work in this sandbox, and its hooks are not protected`);
    default:
      return outside(workingDirectory, files);
  }
}

/** The sandbox can write all of it but hooks and settings, and cannot put another folder in its place. */
export function protectRepository(folder: string, files: HostFiles, access: GitConfigAccess = 'read-only'): GitGuards {
  const mounts: GitMount[] = [];
  const standIns: StandIn[] = [];
  const notices: string[] = [];
  const modules = gitModules(folder, files);
  const isMany = modules.length > maxModules || hasTooManyModules(folder, files);
  // Above that each would make the start slower than the one before it.
  const asOne = isMany && access === 'read-only';
  if (asOne) {
    mounts.push({ kind: 'read-only', path: joined(folder, 'modules') });
    notices.push(
      `${joined(folder, 'modules')} holds too many submodules to protect one by one: git inside can read them and not write them. --git-config writable leaves them to the sandbox.`,
    );
  }
  for (const repository of [folder, ...(asOne ? [] : modules)]) {
    const hooks = joined(repository, 'hooks');
    // A mount by itself: otherwise it could be renamed, and a copy with other hooks put where it was.
    mounts.push({ kind: 'read-write', path: repository });
    const kind = files.look(hooks)?.kind;
    if (kind === 'folder') mounts.push({ kind: 'read-only', path: hooks });
    else if (kind === undefined) mounts.push({ kind: 'masked-folder', path: hooks });
    else notices.push(`${hooks} is a ${kind}: what the sandbox puts there runs on this host. Make it a folder.`);
    if (isMany && repository !== folder) continue;
    const guards = gitGuards(repository, files, access);
    mounts.push(...guards.mounts);
    standIns.push(...guards.standIns);
    notices.push(...guards.notices);
  }

  const config = files.readText(joined(folder, 'config'), maxBytes) ?? '';
  if (/:\/\/[^/\s@:]*:[^/\s@]+@|extraheader\s*=.*(?:basic|bearer|token)/i.test(config))
    notices.push(
      `${joined(folder, 'config')} holds a login, which the sandbox can read. Take it out (git remote set-url …): the door puts the credential in.`,
    );
  const borrowed = (files.readText(joined(folder, 'objects/info/alternates'), maxBytes) ?? '').trim();
  if (borrowed !== '')
    notices.push(`this repository borrows objects from ${borrowed.split('\n').join(', ')}: let that in with --ro.`);
  return { mounts, standIns, notices };
}

/**
 * A worktree or a submodule: its .git says where the repository is. The sandbox can write that file, so it is believed only
 * if the repository, which no sandbox could write before, says in turn that this folder belongs to it.
 */
function followPointer(pointer: string, survey: DangerSurvey, files: HostFiles, access: GitConfigAccess): GitGuards {
  const workingDirectory = dirname(pointer);
  const named = /^gitdir: (.+?)\s*$/.exec(files.readText(pointer, 4096) ?? '')?.[1];
  const folder = named === undefined ? null : files.realPath(resolve(workingDirectory, named));
  if (folder === null) return only(`${pointer} leads nowhere: git does not work in this sandbox`);
  if (liesIn(folder, workingDirectory)) return protectRepository(folder, files, access);
  const common = commonFolder(folder, files);
  const belongs = common === folder ? isSubmodule(folder, workingDirectory, files) : isWorktree(folder, pointer, files);
  if (!belongs || !looksLikeRepository(common, files))
    return only(
      `${pointer} names ${folder}, which does not name this folder: it is not let in, so git does not work. If it belongs together, run \`git worktree repair\` there.`,
    );
  const judged = judgeMount(common, survey, files);
  if (judged.refused !== null) return only(`git does not work in this sandbox: ${judged.refused.reason}`);
  const inside = protectRepository(judged.source, files, access);
  return {
    ...inside,
    notices: [...inside.notices, `the repository of this worktree is let in: ${common}`],
  };
}

/** Of a worktree: the repository it shares with others. */
function commonFolder(folder: string, files: HostFiles): string {
  const named = files.readText(joined(folder, 'commondir'), 4096)?.trim();
  if (named === undefined || named === '') return folder;
  const common = files.realPath(resolve(folder, named));
  // Where git puts it, and nowhere else: not whatever a file says.
  return common !== null && dirname(folder) === joined(common, 'worktrees') ? common : folder;
}

function isWorktree(folder: string, pointer: string, files: HostFiles): boolean {
  const back = files.readText(joined(folder, 'gitdir'), 4096)?.trim();
  return back !== undefined && back !== '' && files.realPath(resolve(folder, back)) === pointer;
}

function isSubmodule(folder: string, workingDirectory: string, files: HostFiles): boolean {
  const config = files.readText(joined(folder, 'config'), maxBytes) ?? '';
  const back = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/m.exec(config)?.[1];
  return (
    folder.includes('/.git/modules/') &&
    back !== undefined &&
    files.realPath(resolve(folder, back)) === workingDirectory
  );
}

function looksLikeRepository(folder: string, files: HostFiles): boolean {
  return ['objects', 'refs', 'HEAD'].every((name) => files.look(joined(folder, name)) !== null);
}

function outside(workingDirectory: string, files: HostFiles): GitGuards {
  for (let at = dirname(workingDirectory); at !== '/'; at = dirname(at)) {
    if (files.look(joined(at, '.git')) !== null)
      return only(
        `the repository begins at ${at}: only ${workingDirectory} is let in, so git does not work. Run it there.`,
      );
  }
  return { mounts: [], standIns: [], notices: [] };
}

function only(notice: string): GitGuards {
  return { mounts: [], standIns: [], notices: [notice] };
}
