// Puts the answer to a DNS question into bytes: one address, nothing, or no such name. Repeats the question exactly and
// stays far under 512 bytes, the least that any client takes, so that no answer is ever cut short.
import { type Answer, encode } from 'dns-packet';
import { type DnsQuestion, rcodes } from './dns-query.ts';

export interface Reply {
  readonly rcode: number;
  readonly address: { readonly type: 'A' | 'AAAA'; readonly data: string } | null;
}

const ttlSeconds = 60;
/** Short: a name that a changed policy allows must be found soon. */
const negativeTtlSeconds = 5;
/** What DNS flag day 2020 settled on. We send less, and take more. */
const ednsBytes = 1232;
const headerBytes = 12;
const isResponse = 0x8000;
// An empty answer with neither is to glibc and Go that of a server that knows nothing.
const recursionAvailable = 0x0080;
const authoritative = 0x0400;
/** Points at the question, which always stands right after the header. */
const nameOfQuestion = Buffer.from([0xc0, headerBytes]);

/** Without a SOA record a resolver may not remember that there is nothing (RFC 2308, section 5). */
const nothing: Answer = {
  type: 'SOA',
  name: '.',
  ttl: negativeTtlSeconds,
  data: {
    mname: 'sallyport.invalid',
    rname: 'nobody.invalid',
    serial: 1,
    refresh: 3600,
    retry: 600,
    expire: 86_400,
    minimum: negativeTtlSeconds,
  },
};

/** `asResolver`: it says that it would ask others. If not, it is the authority for what there is and what there is not. */
export function writeReply(asked: DnsQuestion, reply: Reply, asResolver = true): Buffer {
  const { rcode, address } = reply;
  const isSettled = rcode === rcodes.noError || rcode === rcodes.nxDomain;
  const isNegative = address === null && isSettled;
  const voice = asResolver ? recursionAvailable : isSettled ? authoritative : 0;
  const packet = encode({
    type: 'response',
    id: asked.id,
    flags: asked.flags | isResponse | voice | (rcode & 0xf),
    // The name is put in below, as a pointer: written out twice, a long one could pass 512 bytes.
    answers: address === null ? [] : [{ ...address, name: '.', ttl: ttlSeconds }],
    authorities: isNegative ? [nothing] : [],
    additionals: asked.edns ? [optRecord(rcode >> 4)] : [],
  });
  const header = packet.subarray(0, headerBytes);
  header.writeUInt16BE(asked.question.length === 0 ? 0 : 1, 4);
  if (address === null) return Buffer.concat([header, asked.question, packet.subarray(headerBytes)]);
  return Buffer.concat([header, asked.question, nameOfQuestion, packet.subarray(headerBytes + 1)]);
}

function optRecord(extendedRcode: number): Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize: ednsBytes,
    extendedRcode,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
}
