// What the two doors of the library share, and nobody outside sees: the desk of a gateway that a sandbox joins, the log, and the
// journal as records of requests.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditFilter } from './admin/admin-ports.ts';
import type { AuditRecord } from './audit/record.ts';
import { createLog, type Log } from './kit/log.ts';
import type { SandboxDesk } from './launch/start-sandbox.ts';
import type { RecordFilter, SallyportGateway } from './library-gateway.ts';
import type { RequestRecord } from './library-record.ts';

const desks = new WeakMap<SallyportGateway, SandboxDesk>();

export function rememberDesk(gateway: SallyportGateway, desk: SandboxDesk): void {
  desks.set(gateway, desk);
}

/** Throws for one that only looks like a gateway. */
export function deskOf(gateway: SallyportGateway): SandboxDesk {
  const desk = desks.get(gateway);
  if (desk === undefined) throw new TypeError('this gateway was not started by startGateway of this package');
  return desk;
}

export function logOf(wanted: Log | false | undefined): Log {
  if (wanted === false) return createLog({ level: 'silent' });
  return wanted ?? createLog({ level: 'warn' });
}

export async function* recordsOf(
  desk: { audit(filter: AuditFilter): AsyncIterable<object> },
  {
    sandbox = null,
    refusedOnly = false,
    follow = false,
    ...rest
  }: Omit<RecordFilter, 'sandbox'> & {
    readonly sandbox?: string | null;
  },
): AsyncGenerator<RequestRecord> {
  const limit = rest.limit ?? (follow ? 0 : 100);
  // The journal writes at the end of a turn: what is over by now is in the file.
  await nextTurn();
  // Ends a feed that waits, should the loop be left.
  const left = new AbortController();
  const signal = rest.signal === undefined ? left.signal : AbortSignal.any([rest.signal, left.signal]);
  try {
    for await (const record of desk.audit({ sandbox, refusedOnly, follow, limit, signal })) {
      // Beside requests it holds notes about itself and about what people have said.
      if (!('note' in record)) yield record as AuditRecord;
    }
  } finally {
    left.abort();
  }
}
