// The entries of one directory as a tree object holds them: mode, name, id. Names that could be read in two ways
// (repeated, empty, with a slash, `.` or `..`) are refused: on them our view of a path and the server's could differ.
import { GitWireError } from '../git-wire-error.ts';
import { ID_BYTES } from './object-id.ts';
import { WorkBudget } from './work-budget.ts';

export interface TreeEntry {
  readonly mode: number;
  /** The bytes of the name, one character each: what tells two entries apart. */
  readonly rawName: string;
  readonly oid: string;
}

/** By raw name. */
export type TreeEntries = ReadonlyMap<string, TreeEntry>;

/** What an entry takes in memory besides its name, and what reading it costs. */
const ENTRY_BYTES = 200;
const ENTRY_WORK_BYTES = 256;

const SPACE = 0x20;
const ZERO = 0x30;
const SEVEN = 0x37;
const MAX_MODE_DIGITS = 6;

const KIND_MASK = 0o170000;
const DIRECTORY = 0o040000;
const SYMLINK = 0o120000;
const GITLINK = 0o160000;

/** What the entries will take in memory, without making any: names as they are, and the rest by how many there are. */
export function treeBytes(content: Buffer): number {
  return content.length + countEntries(content) * ENTRY_BYTES;
}

/** At most: each ends with an id behind a NUL. */
function countEntries(content: Buffer): number {
  let count = 0;
  for (let at = 0; at < content.length; count++) {
    const nul = content.indexOf(0, at);
    if (nul === -1) return count + 1;
    at = nul + 1 + ID_BYTES;
  }
  return count;
}

/** Whoever has it made has room for it: see treeBytes. */
export async function parseTree(content: Buffer, budget = new WorkBudget()): Promise<TreeEntries> {
  const entries = new Map<string, TreeEntry>();
  let at = 0;
  budget.spend(content.length);
  while (at < content.length) {
    budget.spend(ENTRY_WORK_BYTES);
    if (budget.isTurnDue) await budget.turn();
    const space = content.indexOf(SPACE, at);
    if (space === -1) throw malformed('an entry without a mode');
    const mode = readMode(content, at, space);
    const nul = content.indexOf(0, space);
    if (nul === -1 || nul + 1 + ID_BYTES > content.length) throw malformed('an entry that is cut short');
    const rawName = content.toString('latin1', space + 1, nul);
    if (rawName === '' || rawName === '.' || rawName === '..' || rawName.includes('/')) {
      throw malformed('a name that is empty, ".", ".." or has a slash in it');
    }
    if (entries.has(rawName)) throw malformed('two entries of one name');
    at = nul + 1 + ID_BYTES;
    entries.set(rawName, { mode, rawName, oid: content.toString('hex', nul + 1, at) });
  }
  return entries;
}

/** As git decides it: by the kind bits alone, so that 040755 is a directory for us where it is one for git. */
export function isDirectory(entry: TreeEntry): boolean {
  return (entry.mode & KIND_MASK) === DIRECTORY;
}

/** A symbolic link or a submodule: what is below its path is somewhere else. */
export function leadsElsewhere(entry: TreeEntry): boolean {
  const kind = entry.mode & KIND_MASK;
  return kind === SYMLINK || kind === GITLINK;
}

function readMode(content: Buffer, from: number, to: number): number {
  if (to === from || to - from > MAX_MODE_DIGITS) throw malformed('a mode that is not octal digits');
  let mode = 0;
  for (let at = from; at < to; at++) {
    const digit = content[at] as number;
    if (digit < ZERO || digit > SEVEN) throw malformed('a mode that is not octal digits');
    mode = mode * 8 + (digit - ZERO);
  }
  return mode;
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `a tree with ${what}`);
}
