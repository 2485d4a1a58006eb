// What a sandbox in the background prints: kept in two files of bounded size, the newer of which is written. For its user alone.
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { runningFolder } from './running-records.ts';

/** Of each of the two files. */
const maxBytes = 8 * 1024 * 1024;

export function outputFile(state: string, id: string): string {
  return join(runningFolder(state), `${id}.output`);
}

/** Follows the streams to their end. The command waits while the disk does. */
export function keepOutput(file: string, streams: readonly Readable[], limit = maxBytes): void {
  closeSync(openSync(file, 'a', 0o600));
  let size = statSync(file).size;
  for (const stream of streams) {
    stream.on('data', (chunk: Buffer) => {
      if (size + chunk.length > limit) {
        renameSync(file, `${file}.1`);
        size = 0;
      }
      try {
        appendFileSync(file, chunk, { mode: 0o600 });
        size += chunk.length;
      } catch {
        // A full disk ends no sandbox.
      }
    });
    stream.on('error', () => {});
  }
}

/** Null: nothing is known of it. */
export function readOutput(state: string, id: string): Buffer | null {
  const file = outputFile(state, id);
  if (!existsSync(file)) return null;
  return Buffer.concat([`${file}.1`, file].filter((each) => existsSync(each)).map((each) => readFileSync(each)));
}

export function forgetOutput(file: string): void {
  for (const each of [file, `${file}.1`, `${file}.start`]) rmSync(each, { force: true });
}
