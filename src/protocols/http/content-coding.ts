// The codings of bodies that can be taken off, by the names that stand in Content-Encoding and Accept-Encoding: one table for
// what comes back, what goes out, and what is asked for.

export type ContentCoding = 'gzip' | 'deflate' | 'br';

/** In lower case. */
export const contentCodings: ReadonlyMap<string, ContentCoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/** Seen in the field, and no coding at all: the content is as it is. */
const noCoding: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8', 'binary', '8bit']);

/** The codings that the values of such a field name, in lower case and in their order. */
export function codingsNamed(values: readonly string[]): string[] {
  return values
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !noCoding.has(name));
}

/** Whether a deflate body is in the form that its name means, and not bare, as many servers write it (RFC 1950 section 2.2). */
export function isZlibForm(beginning: Buffer): boolean {
  return beginning.length >= 2 && (beginning[0]! & 0x0f) === 8 && beginning.readUInt16BE(0) % 31 === 0;
}
