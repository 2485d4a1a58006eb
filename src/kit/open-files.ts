// How many files this process may have open, and how many connections that is enough for. A process without a free descriptor
// cannot write its registry, read its configuration or turn its journal to a new file, so some are kept back for that.
import { readFileSync } from 'node:fs';

/** Journal, registry, doors, admin calls, spooled pushes, sources of credentials. An idle gateway has some 25 open. */
const keptBack = 64;
/** A connection of a sandbox, and one to the upstream that it asks. */
const filesPerConnection = 2;
/** More would only wait to be closed. */
const mostKept = 4096;
/** With fewer it would be of no use at all. */
const fewest = 8;

/** Null: not known here. Node has raised it as far as it may by itself. */
export function openFileLimit(path = '/proc/self/limits'): number | null {
  try {
    const found = /^Max open files +(\d+)/m.exec(readFileSync(path, 'latin1'));
    return found === null ? null : Number(found[1]);
  } catch {
    return null;
  }
}

/** How many connections to upstreams may be kept that nobody uses at the moment. */
export function roomForKept(maxFiles: number | null): number {
  return maxFiles === null ? mostKept : Math.max(fewest, Math.min(mostKept, Math.floor(maxFiles / 8)));
}

/** How many connections of sandboxes there is room for. */
export function roomForConnections(maxFiles: number | null): number {
  if (maxFiles === null) return Number.POSITIVE_INFINITY;
  return Math.max(fewest, Math.floor((maxFiles - keptBack - roomForKept(maxFiles)) / filesPerConnection));
}

/** What the operator should know; empty: there is room for all that the policy allows. */
export function openFilesWarnings(maxFiles: number | null, processes: number, allowedConnections: number): string[] {
  const room = roomForConnections(maxFiles) * processes;
  if (room >= allowedConnections) return [];
  const [have, need] = [
    `${maxFiles} open files`,
    Math.ceil(allowedConnections / processes) * filesPerConnection + keptBack + mostKept,
  ];
  return [
    `a process of this gateway may have ${have}, which is room for ${room} connections: fewer than limits.gateway.connections (${allowedConnections}). Raise the limit to ${need} (ulimit -n, systemd: LimitNOFILE=, Docker: --ulimit nofile=), or lower that one.`,
  ];
}
