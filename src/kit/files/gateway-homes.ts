// The state directories of all gateways of a user: the first one's, and those of gateways that run beside it since they follow
// another configuration. Each is a whole state directory.
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { processBirth } from '../process/process-birth.ts';
import { placesIn } from './home.ts';

/** Of the nth gateway of this user, from 1. */
export function gatewayHome(home: string, n: number): string {
  return n === 1 ? home : join(placesIn(home).gatewaysDirectory, String(n));
}

/** Those that there are, the first one's always: whether a gateway lives there is not looked at. */
export function gatewayHomes(home: string): string[] {
  const beside = namesIn(placesIn(home).gatewaysDirectory)
    .filter((name) => /^[1-9]\d{0,3}$/.test(name))
    .sort((a, b) => Number(a) - Number(b));
  return [home, ...beside.map((name) => join(placesIn(home).gatewaysDirectory, name))];
}

/** Also what version 0.1 left: nobody lives there, but the journals are worth reading. */
export function homesWithJournals(home: string): string[] {
  const { runsDirectory } = placesIn(home);
  return [...gatewayHomes(home), ...namesIn(runsDirectory).map((name) => join(runsDirectory, name))];
}

/** What version 0.1 left of runs that are over, but for their journals: keys of CAs, sockets, logs. */
export function clearOldRuns(home: string): void {
  const { runsDirectory } = placesIn(home);
  for (const name of namesIn(runsDirectory)) {
    const owner = /(?:^|\.)(\d+)-(\d+)$/.exec(name);
    if (owner === null || processBirth(Number(owner[1])) === owner[2]) continue;
    const folder = join(runsDirectory, name);
    for (const part of namesIn(folder))
      if (part !== 'journal') rmSync(join(folder, part), { recursive: true, force: true });
  }
}

function namesIn(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder).sort() : [];
  } catch {
    return [];
  }
}
