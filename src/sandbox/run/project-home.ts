// The home that `--home persist` keeps: one for each project, so that what an agent left in one is not in the hands of the next.
// Earlier versions had one for all: the first home of a project begins as a copy of that one, which stays where it is.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Places } from '../../kit/files/home.ts';

export interface ProjectHome {
  readonly folder: string;
  /** For the user. */
  readonly notices: readonly string[];
}

export async function openProjectHome(
  { projectHomes, sharedHome }: Pick<Places, 'projectHomes' | 'sharedHome'>,
  workingDirectory: string,
): Promise<ProjectHome> {
  const folder = join(projectHomes, projectName(workingDirectory));
  if (existsSync(folder) || !existsSync(sharedHome)) return { folder, notices: [] };
  const begun = `${folder}.${process.pid}`;
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  try {
    // Links as they are: a sandbox made them. Sockets and pipes of programs that have ended are nothing to keep.
    await cp(sharedHome, begun, { recursive: true, verbatimSymlinks: true, filter: isKept });
    await rename(begun, folder);
  } catch (error) {
    await rm(begun, { recursive: true, force: true });
    // Another run was faster.
    if (!existsSync(folder)) throw error;
  }
  const said = `--home persist keeps a home for each project now: that of this one is ${folder}, and begins as a copy of the one that all projects shared. Nothing was removed: when no project needs the old one any more, delete ${sharedHome}.`;
  return { folder, notices: [said] };
}

function isKept(path: string): boolean {
  const stats = lstatSync(path);
  return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
}

/** A name that a person finds, and no other project has. */
export function projectName(workingDirectory: string): string {
  const project = realPath(workingDirectory);
  const readable = basename(project).replace(/[^\w.-]/g, '_');
  return `${readable}-${createHash('sha256').update(project).digest('hex').slice(0, 12)}`;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
