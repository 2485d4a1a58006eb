// A directory that no other user can read, write or swap. Keys, sockets and journals live in such places, so a
// doubtful one is an error with the command that repairs it; it is never repaired silently, because whoever made it
// doubtful may already have been inside.
import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

export class InsecurePlaceError extends Error {
  override readonly name = 'InsecurePlaceError';
  readonly path: string;

  constructor(path: string, problem: string, fix: string) {
    super(`${path} ${problem}. ${fix}`);
    this.path = path;
  }
}

/** Creates what is missing with 0700, then checks as `checkPrivateDirectory` does. `owner`: whose it must be. */
export function ensurePrivateDirectory(path: string, owner: number = effectiveUid()): void {
  const absolute = resolve(path);
  const missing: string[] = [];
  let deepest = absolute;
  while (look(deepest) === null) {
    missing.unshift(deepest);
    deepest = dirname(deepest);
  }
  // What exists is judged before anything is made in it: mkdir must not follow somebody's symbolic link.
  if (missing[0] !== undefined) checkAncestors(missing[0], owner);
  for (const directory of missing) {
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      // Another start of ours may have been quicker; the check below judges whatever is there now.
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }
  checkPrivateDirectory(absolute, owner);
}

/** Throws `InsecurePlaceError` unless the directory is ours alone and nobody else can put another in its place. */
export function checkPrivateDirectory(path: string, owner: number = effectiveUid()): void {
  const absolute = resolve(path);
  const stats = look(absolute);
  if (stats === null) throw new InsecurePlaceError(absolute, 'does not exist', `Create it: mkdir -m 700 ${absolute}`);
  if (stats.isSymbolicLink()) {
    throw new InsecurePlaceError(
      absolute,
      'is a symbolic link',
      'Name the real directory instead, or remove the link.',
    );
  }
  if (!stats.isDirectory()) throw new InsecurePlaceError(absolute, 'is not a directory', 'Move it away.');
  if (stats.uid !== owner) {
    throw new InsecurePlaceError(
      absolute,
      `belongs to user ${stats.uid}, not to user ${owner}`,
      'Use a directory of your own (SALLYPORT_HOME), or run as its owner.',
    );
  }
  if ((stats.mode & 0o077) !== 0) {
    throw new InsecurePlaceError(
      absolute,
      `is open to other users (mode ${octal(stats)})`,
      `Look at what is in it, then: chmod 700 ${absolute}`,
    );
  }
  checkAncestors(absolute, owner);
}

/**
 * Who can write to a directory can rename what is in it, so every directory above must belong to us or to root and
 * be writable by no one else. A sticky one (/tmp) is fine: there only the owner of an entry may rename it.
 */
function checkAncestors(absolute: string, owner: number): void {
  const parent = dirname(absolute);
  const link = look(parent);
  if (link?.isSymbolicLink() === true) {
    throw new InsecurePlaceError(
      parent,
      'is a symbolic link',
      `Name the real directory instead of going through it to ${absolute}.`,
    );
  }
  for (const ancestor of ancestorsOf(realpathSync(parent))) {
    const stats = lstatSync(ancestor);
    if (!stats.isDirectory()) throw new InsecurePlaceError(ancestor, 'is not a directory', 'Move it away.');
    if (stats.uid !== owner && stats.uid !== 0) {
      throw new InsecurePlaceError(
        ancestor,
        `belongs to user ${stats.uid}, who could replace ${absolute}`,
        'Use a place below a directory of your own (SALLYPORT_HOME).',
      );
    }
    const sticky = (stats.mode & 0o1000) !== 0;
    if ((stats.mode & 0o022) !== 0 && !sticky) {
      throw new InsecurePlaceError(
        ancestor,
        `is writable by other users (mode ${octal(stats)}), who could replace ${absolute}`,
        `Take that away: chmod go-w ${ancestor}`,
      );
    }
  }
}

function ancestorsOf(real: string): string[] {
  const parts = real.split(sep).filter((part) => part !== '');
  return ['/', ...parts.map((_, index) => join('/', ...parts.slice(0, index + 1)))];
}

function look(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function octal(stats: Stats): string {
  return (stats.mode & 0o7777).toString(8).padStart(4, '0');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function effectiveUid(): number {
  const uid = process.geteuid?.();
  if (uid === undefined) throw new Error('this system has no user ids: private directories cannot be checked here');
  return uid;
}
