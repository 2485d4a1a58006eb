// What the user asks for with --mount and --ro, and where in the sandbox it may go: never over the system, over the home as
// a whole, or over anything that is bound for the sandbox's safety.
import { isAbsolute, resolve } from 'node:path';
import { LaunchError } from '../run/sandbox-plan.ts';
import { liesIn, liesInAny, normalPath } from './path-relations.ts';
import { systemFolders } from './system-mounts.ts';

export interface RequestedMount {
  readonly mode: 'read-only' | 'read-write';
  readonly source: string;
  readonly target: string;
}

/** `SRC[:DST]`. A relative source is below `cwd`, `~/` is `home`; the target is the source's own path unless it is given. */
export function parseMount(
  text: string,
  mode: RequestedMount['mode'],
  places: { readonly cwd: string; readonly home: string },
): RequestedMount {
  const option = mode === 'read-write' ? '--mount' : '--ro';
  const parts = text.split(':');
  const [from = '', to] = parts;
  if (parts.length > 2 || from === '' || to === '' || text.includes('\0'))
    throw new LaunchError(
      `${option} ${JSON.stringify(text)} is not SOURCE or SOURCE:TARGET`,
      'A path with a colon in it cannot be mounted. Rename it, or mount the folder above it.',
    );
  const source = absolute(from, places);
  const target = to === undefined ? source : absoluteTarget(to, option, places.home);
  return { mode, source, target };
}

/** Places in a sandbox that are not for anything else. */
const taken = [
  ...systemFolders.filter((folder) => folder !== '/opt'),
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/var/run',
  '/boot',
];

export interface TargetPlaces {
  readonly home: string;
  readonly workingDirectory: string;
  readonly bound: readonly string[];
}

/** Throws when the target is the place of something else. */
export function checkTarget({ mode, source, target }: RequestedMount, places: TargetPlaces): void {
  const option = `${mode === 'read-write' ? '--mount' : '--ro'} ${source}:${target}`;
  const refuse = (reason: string) => {
    throw new LaunchError(`${option}: ${reason}`, 'Name another target: SOURCE:TARGET, for example below /mnt.');
  };
  if (normalPath(target) !== target) refuse('the target is not a plain absolute path');
  if (liesInAny(target, taken)) refuse(`${target} belongs to the system of the sandbox, which is read-only`);
  for (const [place, what] of [
    [places.home, "the sandbox's home"],
    [places.workingDirectory, 'the working directory'],
    ['/tmp', "the sandbox's /tmp"],
    ['/var/tmp', "the sandbox's /var/tmp"],
    ...systemFolders.map((folder) => [folder, 'the system']),
    ...places.bound.map((path) => [path, 'a file that the sandbox needs']),
  ] as const) {
    if (liesIn(place, target)) refuse(`it would cover ${what} (${place})`);
  }
}

function absolute(path: string, { cwd, home }: { readonly cwd: string; readonly home: string }): string {
  return resolve(cwd, fromHome(path, home));
}

function absoluteTarget(path: string, option: string, home: string): string {
  const whole = fromHome(path, home);
  if (!isAbsolute(whole))
    throw new LaunchError(`${option}: the target ${JSON.stringify(path)} is not absolute`, 'Write the whole path.');
  return resolve(whole);
}

function fromHome(path: string, home: string): string {
  return path === '~' ? home : path.startsWith('~/') ? `${home}/${path.slice(2)}` : path;
}
