// Field names are few and come again and again: each is decoded and lower-cased once and found again by its bytes.
// The table is a fixed number of slots, so a client that invents names costs itself time and us no memory.

/** What a field means to the framing of its message; everything else is `PLAIN`. */
export const PLAIN = 0;
export const CONTENT_LENGTH = 1;
export const TRANSFER_ENCODING = 2;
export const CONNECTION = 3;
export const UPGRADE = 4;
export const EXPECT = 5;
/** `Transfer_Encoding` and the like: some upstreams fold `_` to `-` and would see framing where we see none. */
export const LOOK_ALIKE = 6;

export interface FieldName {
  /** As it came. */
  readonly name: string;
  /** In lower case. */
  readonly key: string;
  readonly role: number;
}

const roles: ReadonlyMap<string, number> = new Map([
  ['content-length', CONTENT_LENGTH],
  ['transfer-encoding', TRANSFER_ENCODING],
  ['connection', CONNECTION],
  ['upgrade', UPGRADE],
  ['expect', EXPECT],
  ['content_length', LOOK_ALIKE],
  ['transfer_encoding', LOOK_ALIKE],
]);

// A power of two. Some 60 names are in use on any one host: collisions are rare and only cost a decoding.
const SLOTS = 1024;
// Longer names are not kept: the table stays under 150 KiB whatever is sent.
const LONGEST_KEPT = 64;

const slots: (FieldName | undefined)[] = new Array<FieldName | undefined>(SLOTS).fill(undefined);

/** `hash` is the scanner's (`hashStep` over the bytes from `start` to `end`). */
export function fieldName(buf: Buffer, start: number, end: number, hash: number): FieldName {
  const slot = (hash ^ (hash >>> 10)) & (SLOTS - 1);
  const known = slots[slot];
  if (known !== undefined && sameBytes(known.name, buf, start, end)) return known;
  // A copy of its own, not a slice of the head: a kept slice would keep the whole head alive.
  const name = buf.toString('latin1', start, end);
  const key = name.toLowerCase();
  const made: FieldName = { name, key, role: roles.get(key) ?? PLAIN };
  if (name.length <= LONGEST_KEPT) slots[slot] = made;
  return made;
}

export function hashStep(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

function sameBytes(name: string, buf: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== buf[start + i]) return false;
  return true;
}
