// The state directory and the clock, as they are: whose it is, how much room is left, what killed starts left behind, what
// the certificates say about the time. Reads only; removes nothing.
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Places } from '../../kit/files/home.ts';
import { checkPrivateDirectory } from '../../kit/files/secure-directory.ts';
import { processBirth } from '../../kit/process/process-birth.ts';
import type { StateFacts } from './judge-state.ts';

export async function readState(places: Places): Promise<StateFacts> {
  const exists = existsSync(places.home);
  return {
    home: places.home,
    exists,
    insecure: exists ? whyInsecure(places.home) : null,
    freeBytes: await freeBytesAt(places.home),
    leftovers: leftIn(places.sandboxFolders),
    ca: readCa(places.caCertificate),
    nowMs: Date.now(),
    // Both began together; a difference is a clock that was set meanwhile.
    steppedMs: Date.now() - (performance.timeOrigin + performance.now()),
    newestRecordMs: newestIn(places.journalDirectory),
  };
}

function whyInsecure(path: string): string | null {
  try {
    checkPrivateDirectory(path);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function freeBytesAt(path: string): Promise<number | null> {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  try {
    const { bavail, bsize } = await statfs(at);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Their names end with the process that they belong to, and its birth. */
function leftIn(folder: string): string[] {
  return entriesOf(folder).flatMap((name) => {
    const owner = /(?:^|\.)(\d+)[.-](\d+)$/.exec(name);
    const lives = owner !== null && processBirth(Number(owner[1])) === owner[2];
    return lives ? [] : [join(folder, name)];
  });
}

function readCa(path: string): StateFacts['ca'] {
  try {
    const { validFrom, validTo } = new X509Certificate(readFileSync(path));
    return { path, fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
  } catch (error) {
    return existsSync(path) ? { path, broken: error instanceof Error ? error.message : String(error) } : null;
  }
}

function newestIn(folder: string): number | null {
  // Workers have journals in folders of their own.
  const times = entriesOf(folder, true).flatMap((name) => {
    try {
      return [statSync(join(folder, name)).mtimeMs];
    } catch {
      return [];
    }
  });
  return times.length === 0 ? null : Math.max(...times);
}

function entriesOf(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive }) as string[];
  } catch {
    return [];
  }
}
