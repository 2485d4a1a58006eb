// The gitlinks in an index of git: paths that stand for another repository, into which `git status` looks. Read here and not by
// git, which would act on the settings of a repository that a sandbox has written.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** More than any index that is written by hand; the largest known repositories have less. */
const maxBytes = 256 * 1024 * 1024;
const gitlinkMode = 0o160000;

/** Null: there is an index, and it cannot be read. */
export function gitlinksIn(gitFolder: string): readonly string[] | null {
  const bytes = readPlainFile(join(gitFolder, 'index'));
  if (bytes === null || bytes === undefined) return bytes === undefined ? [] : null;
  const own = parseIndex(bytes);
  if (own === null || own.shared === null) return own?.gitlinks ?? null;
  // A split index: the rest of the entries is in another file.
  const shared = readPlainFile(join(gitFolder, `sharedindex.${own.shared}`));
  const rest = shared === null || shared === undefined ? null : parseIndex(shared);
  return rest === null ? null : [...own.gitlinks, ...rest.gitlinks];
}

interface ReadIndex {
  readonly gitlinks: readonly string[];
  /** The name of the index that this one is split from. */
  readonly shared: string | null;
}

/** As gitformat-index(5) has it, with ids of 20 bytes and else of 32. */
export function parseIndex(bytes: Buffer): ReadIndex | null {
  return parseWith(bytes, 20) ?? parseWith(bytes, 32);
}

function parseWith(bytes: Buffer, idBytes: number): ReadIndex | null {
  try {
    const version = bytes.readUInt32BE(4);
    if (bytes.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4) return null;
    const gitlinks: string[] = [];
    let at = 12;
    let path = Buffer.alloc(0);
    for (let left = bytes.readUInt32BE(8); left > 0; left--) {
      const mode = bytes.readUInt32BE(at + 24);
      if (!knownTypes.has(mode >> 12)) return null;
      const flags = bytes.readUInt16BE(at + 40 + idBytes);
      let name = at + 42 + idBytes + (version >= 3 && (flags & 0x4000) !== 0 ? 2 : 0);
      let kept = 0;
      if (version === 4) {
        let byte = bytes.readUInt8(name++);
        let cut = byte & 127;
        while ((byte & 128) !== 0) {
          byte = bytes.readUInt8(name++);
          cut = (cut + 1) * 128 + (byte & 127);
        }
        kept = path.length - cut;
        if (kept < 0) return null;
      }
      const end = bytes.indexOf(0, name);
      if (end < 0) return null;
      path = Buffer.concat([path.subarray(0, kept), bytes.subarray(name, end)]);
      if (mode === gitlinkMode) gitlinks.push(path.toString());
      // Padded with one to eight NUL bytes, but not in version 4.
      at = version === 4 ? end + 1 : at + (Math.floor((end - at) / 8) + 1) * 8;
    }
    return readExtensions(bytes, at, idBytes, gitlinks);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Files, links, gitlinks, and folders of a sparse index: anything else means that the reading went astray. */
const knownTypes = new Set([0o10, 0o12, 0o16, 0o04]);

function readExtensions(bytes: Buffer, from: number, idBytes: number, gitlinks: readonly string[]): ReadIndex | null {
  let at = from;
  let shared: string | null = null;
  while (at < bytes.length - idBytes) {
    const name = bytes.toString('latin1', at, at + 4);
    if (!/^[A-Za-z]{4}$/.test(name)) return null;
    const size = bytes.readUInt32BE(at + 4);
    if (name === 'link') shared = bytes.toString('hex', at + 8, at + 8 + idBytes);
    at += 8 + size;
  }
  if (at !== bytes.length - idBytes) return null;
  return { gitlinks, shared: shared === null || /^0+$/.test(shared) ? null : shared };
}

/** Undefined: nothing there. Null: no plain file, or too large. */
function readPlainFile(path: string): Buffer | null | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(fd) : null;
  } finally {
    closeSync(fd);
  }
}
