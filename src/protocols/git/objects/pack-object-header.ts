// What stands before each object of a pack: its type and size, and for a delta what it is a change to.
// Never trusts the size: it is what the object claims, and the scan holds it to that.
import { GitWireError } from '../git-wire-error.ts';
import { ID_BYTES, type ObjectType } from './object-id.ts';

export const BLOB = 3;
export const OFFSET_DELTA = 6;
export const REF_DELTA = 7;

export interface ObjectHeader {
  readonly code: number;
  readonly size: number;
  /** How far before this object its base begins; 0 when it is not a delta of that kind. */
  readonly baseDistance: number;
  /** The id of the base; null when it is not a delta of that kind. */
  readonly baseId: string | null;
  /** Where the compressed bytes begin. */
  readonly end: number;
}

const types: readonly (ObjectType | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag'];

export function typeOfCode(code: number): ObjectType {
  const type = types[code];
  if (type === undefined) throw new Error(`${code} is not the code of an object's own type`);
  return type;
}

/** Null when the bytes end before the header does; that is never more than 28 bytes on. */
export function readObjectHeader(bytes: Buffer, from: number): ObjectHeader | null {
  let at = from;
  let byte = bytes[at++];
  if (byte === undefined) return null;
  const code = (byte >> 4) & 7;
  let size = byte & 0x0f;
  for (let scale = 16; (byte & 0x80) !== 0; scale *= 128) {
    byte = bytes[at++];
    if (byte === undefined) return null;
    size += (byte & 0x7f) * scale;
    if (size > Number.MAX_SAFE_INTEGER || scale > Number.MAX_SAFE_INTEGER) throw malformed('a size beyond 2^53');
  }
  if (code === OFFSET_DELTA) {
    const distance = readDistance(bytes, at);
    return distance === null ? null : { code, size, baseDistance: distance.value, baseId: null, end: distance.end };
  }
  if (code === REF_DELTA) {
    const end = at + ID_BYTES;
    if (end > bytes.length) return null;
    return { code, size, baseDistance: 0, baseId: bytes.toString('hex', at, end), end };
  }
  if (types[code] === undefined) throw malformed('a type that does not exist');
  return { code, size, baseDistance: 0, baseId: null, end: at };
}

/** Most significant group first, and each further byte adds one, so that no distance has two spellings. */
function readDistance(bytes: Buffer, from: number): { value: number; end: number } | null {
  let at = from;
  let byte = bytes[at++];
  if (byte === undefined) return null;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    byte = bytes[at++];
    if (byte === undefined) return null;
    value = (value + 1) * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw malformed('the distance to its base beyond 2^53');
  }
  return { value, end: at };
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `an object in the pack has ${what}`);
}
