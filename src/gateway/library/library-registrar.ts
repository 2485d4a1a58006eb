// What the two entry points of the library share internally: the registrar of a gateway that a sandbox joins, the log, and the
// journal as records of requests.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLog, type Log } from '../../kit/text/log.ts';
import type { SandboxRegistrar } from '../../sandbox/run/start-sandbox.ts';
import type { AuditRecord } from '../../stages/audit/journal/record.ts';
import type { AuditFilter } from '../admin/admin-ports.ts';
import type { RecordFilter, SallyportGateway } from './library-gateway.ts';
import type { RequestRecord } from './library-record.ts';

const registrars = new WeakMap<SallyportGateway, SandboxRegistrar>();

export function rememberRegistrar(gateway: SallyportGateway, registrar: SandboxRegistrar): void {
  registrars.set(gateway, registrar);
}

/** Throws for one that only looks like a gateway. */
export function registrarOf(gateway: SallyportGateway): SandboxRegistrar {
  const registrar = registrars.get(gateway);
  if (registrar === undefined) throw new TypeError('this gateway was not started by startGateway of this package');
  return registrar;
}

export function logOf(wanted: Log | false | undefined): Log {
  if (wanted === false) return createLog({ level: 'silent' });
  return wanted ?? createLog({ level: 'warn' });
}

export async function* recordsOf(
  registrar: { audit(filter: AuditFilter): AsyncIterable<object> },
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
    for await (const record of registrar.audit({ sandbox, refusedOnly, follow, limit, signal })) {
      // Beside requests it holds notes about itself and about what people have said.
      if (!('note' in record)) yield record as AuditRecord;
    }
  } finally {
    left.abort();
  }
}
