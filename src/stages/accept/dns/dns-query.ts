// Reads one DNS message: either a plain question that we can answer, or the error code to answer with. Strict, because a
// message that two resolvers could read differently must not be answered. Pure; never throws.
import { decode, encode } from 'dns-packet';

/** What the answer repeats of the message, whatever else it says. */
export interface DnsQuestion {
  readonly id: number;
  /** Opcode, RD and CD, in the places where they stand in the answer. */
  readonly flags: number;
  /** The question, byte for byte: clients compare it, in the mix of upper and lower case they sent. Empty: not readable. */
  readonly question: Buffer;
  /** The message had an OPT record (EDNS), so the answer has one. */
  readonly edns: boolean;
}

export type DnsReading =
  /** Not a question: an answer, or too short for one. Answering it could go on for ever. */
  | { readonly kind: 'silence' }
  | { readonly kind: 'turned-away'; readonly asked: DnsQuestion; readonly rcode: number }
  | { readonly kind: 'question'; readonly asked: DnsQuestion; readonly name: string; readonly type: number };

export const rcodes = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  badVersion: 16,
} as const;

export const maxQueryBytes = 4096;
const headerBytes = 12;
/** OPT, and TSIG or SIG(0), which are not looked at. */
const maxAdditionals = 3;
const isAnswer = 0x8000;
const opcodeMask = 0x7800;
const recursionDesired = 0x0100;
const checkingDisabled = 0x0010;
const classInternet = 1;

export function readQuery(message: Buffer): DnsReading {
  if (message.length < headerBytes) return { kind: 'silence' };
  const flags = message.readUInt16BE(2);
  if ((flags & isAnswer) !== 0) return { kind: 'silence' };
  const bare: DnsQuestion = {
    id: message.readUInt16BE(0),
    flags: flags & (opcodeMask | recursionDesired | checkingDisabled),
    question: Buffer.alloc(0),
    edns: false,
  };
  if ((flags & opcodeMask) !== 0) return { kind: 'turned-away', asked: bare, rcode: rcodes.notImp };
  if (!hasPlainCounts(message)) return { kind: 'turned-away', asked: bare, rcode: rcodes.formErr };
  try {
    return readQuestion(message, bare);
  } catch {
    // The library says by throwing that the bytes are no DNS message.
    return { kind: 'turned-away', asked: bare, rcode: rcodes.formErr };
  }
}

/** Looked at before anything is decoded: a message may claim 65535 records of each kind. */
function hasPlainCounts(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  return (
    message.length <= maxQueryBytes &&
    questions === 1 &&
    answers === 0 &&
    authorities === 0 &&
    additionals !== undefined &&
    additionals <= maxAdditionals
  );
}

function readQuestion(message: Buffer, bare: DnsQuestion): DnsReading {
  const packet = decode(message);
  const isWhole = decode.bytes === message.length;
  const name = packet.questions?.[0]?.name ?? '';
  const encodedName = nameBytes(name);
  const typeAt = headerBytes + encodedName.length;
  // One reading of a name: a pointer, a label with a dot inside or bytes that are no text do not lead back to themselves.
  if (!isWhole || !message.subarray(headerBytes, typeAt).equals(encodedName)) {
    return { kind: 'turned-away', asked: bare, rcode: rcodes.formErr };
  }
  const options = (packet.additionals ?? []).filter((record) => record.type === 'OPT');
  const [opt] = options;
  const asked = { ...bare, question: message.subarray(headerBytes, typeAt + 4), edns: opt !== undefined };
  if (options.length > 1 || (opt !== undefined && opt.name !== '.')) {
    return { kind: 'turned-away', asked, rcode: rcodes.formErr };
  }
  if (opt !== undefined && opt.ednsVersion !== 0) return { kind: 'turned-away', asked, rcode: rcodes.badVersion };
  // Read from the bytes: the library takes the top bit of a class for a flag of multicast DNS.
  if (message.readUInt16BE(typeAt + 2) !== classInternet) {
    return { kind: 'turned-away', asked, rcode: rcodes.notImp };
  }
  return { kind: 'question', asked, name, type: message.readUInt16BE(typeAt) };
}

function nameBytes(name: string): Buffer {
  return encode({ questions: [{ type: 'A', name }] }).subarray(headerBytes, -4);
}
