// Damage done to recorded traffic: bits flipped, pieces cut out, repeated, moved between recordings, lines doubled, bytes
// put in that parsers stumble over. As fast-check arbitraries, so that a failing input shrinks to the one change that counts.
import fc from 'fast-check';

const interesting: readonly Buffer[] = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', '\x0b', ':', ';', ',', '"', '\\', '/', '..', '%00', '%2e', '0'],
  ...['-1', '+', '0x', '_', 'chunked', 'Transfer-Encoding: chunked\r\n', 'Content-Length: 5\r\n', '0\r\n\r\n', '0000'],
  ...['{', '}', '[', ']', '*', '&', '#', '@', '\u00ff', '\u0085', '__proto__', '"operation":"upload"', 'ffff', '0004'],
].map((text) => Buffer.from(text, 'latin1'));
const numbers = [0, 1, 0x7f, 0x80, 0xff];

type Change =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'set'; readonly at: number; readonly byte: number }
  | { readonly kind: 'cut' | 'repeat' | 'keep'; readonly at: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Buffer }
  | {
      readonly kind: 'splice';
      readonly at: number;
      readonly from: number;
      readonly other: number;
      readonly length: number;
    }
  | { readonly kind: 'line'; readonly at: number };

/** A place in a recording of any length, every one as likely: doubles would mostly be next to nought. */
const place = fc.noBias(fc.nat(0xffffff)).map((n) => n / 0x1000000);
const short = fc.integer({ min: 1, max: 40 });

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('flip' as const), at: place, bit: fc.nat(7) }),
  fc.record({ kind: fc.constant('set' as const), at: place, byte: fc.constantFrom(...numbers) }),
  fc.record({ kind: fc.constantFrom('cut' as const, 'repeat' as const, 'keep' as const), at: place, length: short }),
  fc.record({ kind: fc.constant('insert' as const), at: place, bytes: fc.constantFrom(...interesting) }),
  fc.record({ kind: fc.constant('splice' as const), at: place, from: place, other: place, length: short }),
  fc.record({ kind: fc.constant('line' as const), at: place }),
);

/** Recordings with one to four changes each; now and then bytes that are no recording at all. */
export function mutated(recordings: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const damaged = fc
    .tuple(fc.constantFrom(...recordings), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([recording, changes]) => changes.reduce((bytes, one) => apply(bytes, one, recordings), recording));
  const noise = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 20, arbitrary: damaged }, { weight: 1, arbitrary: noise });
}

/** Recordings with bytes changed in place: every length in them still fits. */
export function bent(recordings: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const inPlace = change.filter(({ kind }) => kind === 'flip' || kind === 'set');
  return fc
    .tuple(fc.constantFrom(...recordings), fc.array(inPlace, { minLength: 1, maxLength: 4 }))
    .map(([recording, changes]) => changes.reduce((bytes, one) => apply(bytes, one, recordings), recording));
}

export function mutatedText(recordings: readonly string[]): fc.Arbitrary<string> {
  return mutated(recordings.map((text) => Buffer.from(text, 'utf8'))).map((bytes) => bytes.toString('utf8'));
}

function apply(bytes: Buffer, one: Change, recordings: readonly Buffer[]): Buffer {
  const at = Math.floor(one.at * bytes.length);
  const around = (middle: Buffer, skip = 0): Buffer =>
    Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(at + skip)]);
  if (bytes.length === 0) return one.kind === 'insert' ? one.bytes : bytes;
  switch (one.kind) {
    case 'flip':
      return around(Buffer.from([bytes[at]! ^ (1 << one.bit)]), 1);
    case 'set':
      return around(Buffer.from([one.byte]), 1);
    case 'cut':
      return around(Buffer.alloc(0), one.length);
    case 'repeat':
      return around(Buffer.concat(Array<Buffer>(2).fill(bytes.subarray(at, at + one.length))), one.length);
    case 'keep':
      return bytes.subarray(0, at);
    case 'insert':
      return around(one.bytes);
    case 'splice': {
      const other = recordings[Math.floor(one.other * recordings.length)]!;
      const from = Math.floor(one.from * other.length);
      return around(other.subarray(from, from + one.length * 4));
    }
    case 'line': {
      const start = bytes.lastIndexOf(0x0a, at - 1) + 1;
      const end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start, end), bytes.subarray(end)]);
    }
  }
}
