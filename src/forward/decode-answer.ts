// Takes the coding off an answer that came compressed though it was asked for plain, so that it can be read. Bounded: what
// comes out is passed on at the client's pace. An answer that does not decode never looks whole.
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { BodyWriter } from '../flow/exchange.ts';
import type { HeaderList } from '../flow/header-list.ts';

export type DecodedCoding = 'gzip' | 'deflate' | 'br';

const known: ReadonlyMap<string, DecodedCoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/** Null: none. */
export function codingOf(headers: HeaderList): DecodedCoding | 'unreadable' | null {
  const names = codingsIn(headers, 'content-encoding');
  // Messages of gRPC are compressed one by one, inside the body.
  if (codingsIn(headers, 'grpc-encoding').length > 0 || names.length > 1) return 'unreadable';
  return names.length === 0 ? null : (known.get(names[0]!) ?? 'unreadable');
}

function codingsIn(headers: HeaderList, key: string): string[] {
  if (!headers.has(key)) return [];
  return headers
    .getAll(key)
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
}

/** A writer of coded bytes, whose content goes to `to`. */
export function decodeTo(to: BodyWriter, coding: DecodedCoding): BodyWriter {
  const decoder = open(coding);
  let trailers: HeaderList | null = null;
  let over = false;
  const writer: BodyWriter = {
    onDrain: null,
    write: (chunk) => over || decoder.write(chunk),
    flush: () => to.flush(),
    end: (fields) => {
      trailers = fields;
      decoder.end();
    },
    fail: (reason) => {
      over = true;
      decoder.destroy();
      to.fail(reason);
    },
  };
  decoder.on('drain', () => writer.onDrain?.());
  decoder.on('data', (piece: Buffer) => {
    if (!over && !to.write(piece)) decoder.pause();
  });
  to.onDrain = () => decoder.resume();
  decoder.on('end', () => {
    if (!over) to.end(trailers);
    over = true;
  });
  decoder.on('error', (error) => {
    if (!over) to.fail(error);
    over = true;
    // Whoever waits for room would wait for ever.
    writer.onDrain?.();
  });
  return writer;
}

function open(coding: DecodedCoding) {
  if (coding === 'br') return createBrotliDecompress();
  return coding === 'gzip' ? createGunzip() : createInflate();
}
