// Finds the system programs a launcher needs, so that they can be started by absolute path with an empty environment:
// what a launcher's own processes have in their environment can be read inside the sandbox at /proc/1/environ.
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ownPath } from '../../kit/process/own-path.ts';
import { LaunchError } from '../run/sandbox-plan.ts';

/** Where system programs are, also where the user's PATH leaves them out: an ordinary user's often has no sbin. */
const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Null when it is not there. The system's own come first; of PATH only absolute entries: never the working directory. */
export function findTool(name: string, path = ownPath()): string | null {
  for (const folder of [...systemFolders, ...path.split(':').filter(isAbsolute)]) {
    const file = join(folder, name);
    if (isExecutable(file)) return file;
  }
  return null;
}

/** The same for a program that cannot be done without; `hint` says where it comes from. */
export function needTool(name: string, hint: string, find: (name: string) => string | null = findTool): string {
  const file = find(name);
  if (file === null) throw new LaunchError(`${name} is not installed`, hint);
  return file;
}

/** Whether one of these folders has the program. */
export function isInPath(program: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isAbsolute(folder) && isExecutable(join(folder, program)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
