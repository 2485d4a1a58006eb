// What a sandbox is told about a name: the address it has at this door, nothing, or that there is no such name. Pure but
// for the one question whether the name may be known. Must never ask another resolver anything.

import { type Answer, encode } from 'dns-packet';
import { syntheticAddresses } from '../../../kit/synthetic-address.ts';
import { type DnsQuestion, rcodes, readQuery } from './dns-query.ts';

/**
 * May this sandbox know this name; `in-words`: it may not, and has an address where it is told so. `type` as the records are
 * called, e.g. `AAAA`; for one we do not serve, e.g. `TYPE4711`.
 */
export type MayResolve = (name: string, type: string) => boolean | 'in-words';

/** How a door answers. */
export interface DnsVoice {
  /** The addresses that every name has there that may be known; null: none of this family. */
  addressesOf(name: string): { readonly v4: string | null; readonly v6: string | null };
  /** It passes for the resolver that was asked. If not, it speaks for all names itself, and says that it asks nobody. */
  readonly isResolver: boolean;
}

/** In a namespace of one sandbox: whatever resolver it believes it asks, each name has an address of its own. */
export const namespaceVoice: DnsVoice = { addressesOf: syntheticAddresses, isResolver: true };

/** Types that carry no free text. Of a name that may be known there is none, and that is all that is said. */
const emptyTypes: ReadonlyMap<number, string> = new Map([
  [2, 'NS'],
  [5, 'CNAME'],
  [6, 'SOA'],
  [12, 'PTR'],
  [15, 'MX'],
  [29, 'LOC'],
  [33, 'SRV'],
  [35, 'NAPTR'],
  [39, 'DNAME'],
  [43, 'DS'],
  [44, 'SSHFP'],
  [46, 'RRSIG'],
  [48, 'DNSKEY'],
  [52, 'TLSA'],
  [64, 'SVCB'],
  [65, 'HTTPS'],
  [256, 'URI'],
  [257, 'CAA'],
]);
const refusedTypes: ReadonlyMap<number, string> = new Map([
  [10, 'NULL'],
  [16, 'TXT'],
  [251, 'IXFR'],
  [252, 'AXFR'],
  [255, 'ANY'],
]);
const ownMachine = { v4: '127.0.0.1', v6: '::1' };

/** Null: no answer is due. */
export function answerQuery(message: Buffer, lookup: MayResolve, voice = namespaceVoice): Buffer | null {
  const reading = readQuery(message);
  if (reading.kind === 'silence') return null;
  if (reading.kind === 'turned-away') return writeReply(reading.asked, empty(reading.rcode), voice.isResolver);
  let reply: Reply;
  try {
    reply = decideReply(reading.name, reading.type, lookup, voice);
  } catch {
    // The gateway could not decide: the sandbox learns nothing. The cause is written down where it was thrown.
    reply = empty(rcodes.servFail);
  }
  return writeReply(reading.asked, reply, voice.isResolver);
}

/** The same question, refused undecided. Never longer than the question, so that it is of no use against a third party. */
export function refuseQuery(message: Buffer, voice = namespaceVoice): Buffer | null {
  const reading = readQuery(message);
  return reading.kind === 'silence' ? null : writeReply(reading.asked, empty(rcodes.refused), voice.isResolver);
}

/** What the path calls a type. */
export function typeName(type: number): string {
  if (type === 1) return 'A';
  if (type === 28) return 'AAAA';
  return emptyTypes.get(type) ?? refusedTypes.get(type) ?? `TYPE${type}`;
}

function decideReply(name: string, type: number, lookup: MayResolve, voice: DnsVoice): Reply {
  const addressType = type === 1 ? 'A' : type === 28 ? 'AAAA' : null;
  if (addressType === null && !emptyTypes.has(type)) {
    // DnsQuestion all the same: a sandbox that tries to talk in such records is written down.
    lookup(name, typeName(type));
    return empty(rcodes.refused);
  }
  const lower = name.toLowerCase();
  const isOwnMachine = lower === 'localhost' || lower.endsWith('.localhost');
  // The root exists, whatever is allowed: without it no name could.
  if (lower === '.') return empty(rcodes.noError);
  if (isReverse(lower)) return empty(rcodes.nxDomain);
  if (!isOwnMachine && lookup(name, typeName(type)) === false) return empty(rcodes.nxDomain);
  if (addressType === null) return empty(rcodes.noError);
  const addresses = isOwnMachine ? ownMachine : voice.addressesOf(name);
  const data = addressType === 'A' ? addresses.v4 : addresses.v6;
  return data === null ? empty(rcodes.noError) : { rcode: rcodes.noError, address: { type: addressType, data } };
}

/** Our addresses have no names. Programs ask for them by default (ss, ping, getfqdn), so this is not an attack. */
function isReverse(lower: string): boolean {
  return lower.endsWith('.in-addr.arpa') || lower.endsWith('.ip6.arpa');
}

function empty(rcode: number): Reply {
  return { rcode, address: null };
}

// Puts the answer to a DNS question into bytes: one address, nothing, or no such name. Repeats the question exactly and
// stays far under 512 bytes, the least that any client takes, so that no answer is ever cut short.
interface Reply {
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
function writeReply(asked: DnsQuestion, reply: Reply, asResolver = true): Buffer {
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
