// Where this process may make control groups with a limit in them. Version 2 as a user has it below their own manager, or root; and
// version 1, which some machines still have. Only looks, but for switching a controller on where that is ours to do.
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { liesIn } from '../files/path-relations.ts';

export type CgroupController = 'memory' | 'cpu' | 'pids';

export interface CgroupPlace {
  readonly version: 1 | 2;
  /** A group is made in this folder. */
  readonly folder: string;
}

export interface CgroupFiles {
  readonly mounts: string;
  readonly own: string;
}

export function readOwnCgroups(): CgroupFiles {
  return { mounts: read('/proc/self/mountinfo'), own: read('/proc/self/cgroup') };
}

/** Null: a group with this limit cannot be made here by this user. */
export function findCgroup(controller: CgroupController, files: CgroupFiles = readOwnCgroups()): CgroupPlace | null {
  return findUnified(controller, files) ?? findOld(controller, files);
}

function findUnified(controller: CgroupController, { mounts, own }: CgroupFiles): CgroupPlace | null {
  const mount = mountOf(mounts, 'cgroup2');
  const path = /^0::(\/.*)$/m.exec(own)?.[1];
  if (mount === null || path === undefined) return null;
  const top = mount.point;
  const here = join(top, path);
  if (!liesIn(here, top)) return null;
  // Beside our own group, not below it: a group with processes in it can hand on no controller. Only the very first can.
  for (let folder = here === top ? top : dirname(here); liesIn(folder, top); folder = dirname(folder)) {
    if (!isWritable(folder) || !isWritable(join(folder, 'cgroup.procs'))) return null;
    if (!listed(folder, 'cgroup.controllers').includes(controller)) continue;
    if (handsOn(folder, controller)) return { version: 2, folder };
    if (folder === top) return null;
  }
  return null;
}

function handsOn(folder: string, controller: CgroupController): boolean {
  if (listed(folder, 'cgroup.subtree_control').includes(controller)) return true;
  try {
    writeFileSync(join(folder, 'cgroup.subtree_control'), `+${controller}`);
  } catch {
    return false;
  }
  return listed(folder, 'cgroup.subtree_control').includes(controller);
}

function findOld(controller: CgroupController, { mounts, own }: CgroupFiles): CgroupPlace | null {
  const mount = mountOf(mounts, 'cgroup', controller);
  const line = own.split('\n').find((each) => each.split(':')[1]?.split(',').includes(controller) === true);
  const path = line?.split(':').slice(2).join(':');
  if (mount === null || path === undefined) return null;
  // A container sees its own part of it at the top, under its whole name.
  const folder = [join(mount.point, path), mount.point].find((each) => existsSync(join(each, 'cgroup.procs')));
  return folder !== undefined && isWritable(folder) ? { version: 1, folder } : null;
}

function mountOf(mountinfo: string, type: string, controller?: string): { readonly point: string } | null {
  for (const line of mountinfo.split('\n')) {
    const [before, after] = line.split(' - ');
    const [kind, , options = ''] = (after ?? '').split(' ');
    const point = before?.split(' ')[4];
    if (kind !== type || point === undefined || point.includes('\\')) continue;
    if (controller === undefined || options.split(',').includes(controller)) return { point };
  }
  return null;
}

function listed(folder: string, file: string): string[] {
  return read(join(folder, file)).trim().split(/\s+/);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
