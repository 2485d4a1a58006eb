// What the planner asks the host's file system: a small port, so that a test can bring a host of its own. Looks and never
// changes anything; what cannot be looked at counts as not there.
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';

export type FileKind = 'file' | 'folder' | 'link' | 'socket' | 'pipe' | 'device';

export interface FileFacts {
  readonly kind: FileKind;
  readonly mode: number;
  /** Device and inode: the same for one file under two names. */
  readonly identity: string;
  /** When it was last changed, in milliseconds: nobody but the kernel sets this. */
  readonly changedMs?: number;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: FileKind;
}

export interface HostFiles {
  /** Of the path itself: a link is not followed. null: nothing there. */
  look(path: string): FileFacts | null;
  /** With every link followed; null: it leads nowhere. */
  realPath(path: string): string | null;
  readLink(path: string): string | null;
  /** Empty for what is no folder or cannot be read. */
  list(path: string): readonly FolderEntry[];
  /** The beginning of a regular file; null for anything else. */
  readText(path: string, maxBytes: number): string | null;
  canRead(path: string): boolean;
}

export const hostFiles: HostFiles = {
  look(path) {
    const stats = quietly(() => lstatSync(path, { throwIfNoEntry: false }));
    return stats === null || stats === undefined ? null : factsOf(stats);
  },
  // Most of what is asked for is not there, and an error costs more than a second look.
  realPath(path) {
    return this.look(path) === null ? null : quietly(() => realpathSync.native(path));
  },
  readLink: (path) => quietly(() => readlinkSync(path)),
  list(path) {
    const entries = quietly(() => readdirSync(path, { withFileTypes: true })) ?? [];
    return entries.flatMap((entry) => {
      const kind = kindOf(entry) ?? this.look(`${path}/${entry.name}`)?.kind;
      return kind === undefined ? [] : [{ name: entry.name, kind }];
    });
  },
  readText: (path, maxBytes) => quietly(() => readBeginning(path, maxBytes)),
  canRead: (path) => quietly(() => accessSync(path, constants.R_OK)) !== null,
};

function readBeginning(path: string, maxBytes: number): string | null {
  // Not blocking and not following, so that a named pipe or a link put there in the meantime cannot hold or lead us.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(fd).isFile()) return null;
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, maxBytes, 0));
  } finally {
    closeSync(fd);
  }
}

function factsOf(stats: Stats): FileFacts {
  return {
    kind: kindOf(stats) ?? 'device',
    mode: stats.mode & 0o7777,
    identity: `${stats.dev}:${stats.ino}`,
    changedMs: stats.ctimeMs,
  };
}

type Tells = Pick<
  Stats,
  'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isSocket' | 'isFIFO' | 'isBlockDevice' | 'isCharacterDevice'
>;

/** null: some file systems do not say it in a listing. */
function kindOf(entry: Tells): FileKind | null {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isSocket()) return 'socket';
  if (entry.isFIFO()) return 'pipe';
  return entry.isBlockDevice() || entry.isCharacterDevice() ? 'device' : null;
}

function quietly<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
