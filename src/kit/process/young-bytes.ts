// Bytes that are read lie outside V8's heap and are freed only when the small objects that hold them are collected. Of these V8
// collects the young ones when they fill their room, by when hundreds of megabytes may hang on them. Long before that it walks the
// whole heap, for every few dozen megabytes again: half the CPU of a large body. So the young ones are collected here, after so many
// bytes; that takes less than a millisecond. ADR 073.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Measured: with 24 MiB V8 still walks the whole heap, with 3 MiB there are more collections than it takes. */
const collectAfterBytes = 8 * 1024 * 1024;

let bytesSince = 0;
let collectYoung: (() => void) | undefined;

/** So many bytes were read in one piece. */
export function noteRead(bytes: number): void {
  bytesSince += bytes;
  if (bytesSince < collectAfterBytes) return;
  bytesSince = 0;
  collectYoung ??= openCollector();
  collectYoung();
}

function openCollector(): () => void {
  const gc = exposedGc();
  return gc === null ? () => {} : () => gc({ type: 'minor' });
}

/** V8's own collector; null where it cannot be had. The flag is taken back: nothing else in this process finds it. */
export function exposedGc(): ((options?: { readonly type: 'minor' }) => void) | null {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function'
    ? (options) => void Reflect.apply(gc, undefined, options === undefined ? [] : [options])
    : null;
}
