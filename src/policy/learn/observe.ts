// Reads from the journal what a learning session asked for: hosts that only learning let it read, and what was still refused.
// Bounded, whatever the sandbox did.

/** A host that was read because the sandbox learned. */
export interface ReadHost {
  readonly host: string;
  readonly requests: number;
  /** At most a few, to see whether a preset covers them. */
  readonly paths: readonly string[];
}

/** Something that was refused, as often as it was. */
export interface StillRefused {
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly code: string;
  readonly rule: string;
  readonly reason: string;
  readonly times: number;
}

export interface Observed {
  readonly read: readonly ReadHost[];
  readonly refused: readonly StillRefused[];
  /** Hosts and refusals that were too many to keep. */
  readonly leftOut: number;
}

/** A session that needs more than this is not described by a list anybody reads. */
const maxHosts = 500;
const maxRefused = 200;
const maxPaths = 100;

// What a line of the policy could change. The rest (limits, credentials, broken upstreams) is no business of learning.
const policyCodes = new Set([
  'domain.not-allowed',
  'domain.plain-http',
  'method.not-allowed',
  'path.not-allowed',
  'target.port',
]);

/** A record of the journal, as far as it is read here. */
type Entry = Readonly<Record<string, unknown>>;

export async function observe(records: AsyncIterable<Entry> | Iterable<Entry>, rule = 'learning'): Promise<Observed> {
  const read = new Map<string, { requests: number; paths: Set<string> }>();
  const refused = new Map<string, StillRefused>();
  let leftOut = 0;
  for await (const record of records) {
    const { host, kind, verdict } = record;
    // Here the session begins: what comes before is of another sandbox that had its name.
    if (record.note === 'approval' && record.answer === 'learn') {
      read.clear();
      refused.clear();
      leftOut = 0;
    }
    if (typeof host !== 'string' || host === '') continue;
    if (verdict === 'allowed' && record.rule === rule && kind === 'http') {
      const known = read.get(host);
      if (known === undefined && read.size >= maxHosts) leftOut += 1;
      else {
        const seen = known ?? { requests: 0, paths: new Set() };
        seen.requests += 1;
        if (seen.paths.size < maxPaths) seen.paths.add(text(record.path));
        read.set(host, seen);
      }
    } else if (verdict === 'refused' && policyCodes.has(text(record.code))) {
      const one = asRefused(record, host);
      const key = `${one.method} ${one.scheme} ${host} ${one.port} ${one.code}`;
      const before = refused.get(key);
      if (before === undefined && refused.size >= maxRefused) leftOut += 1;
      else refused.set(key, { ...one, times: (before?.times ?? 0) + 1 });
    }
  }
  return {
    read: [...read].map(([host, { requests, paths }]) => ({ host, requests, paths: [...paths] })),
    refused: [...refused.values()],
    leftOut,
  };
}

function asRefused(record: Entry, host: string): StillRefused {
  const isPlain = isPlainConnection(record);
  return {
    // A question for a name comes before any request to it.
    method: record.kind === 'lookup' ? 'look-up' : text(record.method),
    scheme: isPlain ? 'tcp' : text(record.scheme),
    host,
    port: typeof record.port === 'number' ? record.port : 443,
    path: record.kind === 'lookup' || isPlain ? '' : text(record.path),
    code: text(record.code),
    rule: text(record.rule),
    reason: text(record.reason),
    times: 1,
  };
}

/** A CONNECT to another port than those of the web is most likely no HTTP. */
function isPlainConnection({ kind, port }: Entry): boolean {
  return kind === 'tcp' || (kind === 'connect' && port !== 443 && port !== 80);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
