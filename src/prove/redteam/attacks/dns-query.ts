// DNS questions of the attacker and what the answers say. Coding is dns-packet's; nothing here sends anything.
import packet, { type Answer } from 'dns-packet';
import { plainHost } from '../redteam-hosts.ts';

export type QueryType = 'A' | 'AAAA' | 'TXT' | 'NULL' | 'ANY' | 'MX';

/** ANY has no name in the library's list of types. */
export function dnsQuery(name: string, type: QueryType): string {
  const bytes = packet.encode({
    type: 'query',
    id: 4711,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type: type === 'ANY' ? 'A' : type, name }],
  });
  // QTYPE 255: the two bytes before QCLASS, which ends a packet of one question.
  if (type === 'ANY') bytes.writeUInt16BE(255, bytes.length - 4);
  return bytes.toString('hex');
}

export const allowedQuery = dnsQuery(plainHost, 'A');

export interface DnsAnswer {
  readonly code: string;
  /** Data of every record, as text. */
  readonly data: readonly string[];
}

/** Null: not an answer. */
export function readDnsAnswer(hex: string): DnsAnswer | null {
  try {
    const { type, answers = [], additionals = [], ...rest } = packet.decode(Buffer.from(hex, 'hex'));
    if (type !== 'response') return null;
    const records: Answer[] = [...answers, ...additionals.filter((record) => record.type !== 'OPT')];
    const code = 'rcode' in rest && typeof rest.rcode === 'string' ? rest.rcode : 'unknown';
    return { code, data: records.map((record) => ('data' in record ? String(record.data) : '')) };
  } catch {
    return null;
  }
}
