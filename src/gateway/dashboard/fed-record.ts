// A finished request as the live feed shows it: the fields that the page needs, and its line. The journal's record has more;
// a person who opens a request gets all of it.
import type { RequestLine } from './shapes.ts';

export interface FedRecord extends RequestLine {
  readonly rule: string | null;
  readonly reason: string | null;
  readonly hint: string | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_usd: number;
}

export function lineOf(record: FedRecord): RequestLine {
  const { id, time, sandbox, method, scheme, host, port, path, kind, verdict, status, code, ms } = record;
  return { id, time, sandbox, method, scheme, host, port, path, kind, verdict, status, code, ms };
}

export function isRefused({ verdict }: Pick<FedRecord, 'verdict'>): boolean {
  return verdict === 'refused';
}

/**
 * A text that holds on to nothing but itself: a piece of a larger one keeps all of that in memory, and a sandbox has a say in
 * how large it was.
 */
export function detached(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
