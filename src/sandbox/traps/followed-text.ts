// What a configuration said when it was last followed at a start, or approved: so that a person who is asked about it can be
// shown what changed, and need not read all of it. Says nothing about whose it is. // Guards: threats.md T36
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** A full disk, say, must not stop a start: then there is nothing to compare with the next time. */
export function noteFollowed(state: string, config: string): void {
  try {
    const text = readFileSync(config, 'utf8');
    if (text === lastFollowed(state, config)) return;
    const place = placeOf(state, config);
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
    writeFileSync(`${place}.${process.pid}`, text, { mode: 0o600 });
    renameSync(`${place}.${process.pid}`, place);
  } catch {
    // Nothing depends on it.
  }
}

/** Null: it was never followed. */
export function lastFollowed(state: string, config: string): string | null {
  try {
    return readFileSync(placeOf(state, config), 'utf8');
  } catch {
    return null;
  }
}

function placeOf(state: string, config: string): string {
  return join(state, 'written', 'followed', createHash('sha256').update(resolve(config)).digest('hex'));
}
