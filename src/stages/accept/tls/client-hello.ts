// Reads the server name out of a TLS ClientHello without taking part in the handshake. Pure and bounded: it is fed
// attacker bytes. It only chooses a certificate or checks a tunnel; when TLS is terminated here the name that counts
// is the one OpenSSL saw.

export interface ClientHello {
  readonly sni: string | null;
  /** An encrypted inner hello (ECH) is present: the visible name may not be the real one. */
  readonly hiddenName: boolean;
}

export type HelloReading =
  | { readonly state: 'more' }
  | { readonly state: 'not-tls' }
  | { readonly state: 'bad' }
  | { readonly state: 'read'; readonly hello: ClientHello };

const more: HelloReading = { state: 'more' };
const bad: HelloReading = { state: 'bad' };
const maxHelloBytes = 32 * 1024;
const extensionServerName = 0;
const extensionEch = 0xfe0d;

export function readClientHello(buffer: Buffer): HelloReading {
  if (buffer.length === 0) return more;
  if (buffer[0] !== 0x16) return { state: 'not-tls' };
  const handshake = joinRecords(buffer);
  if (handshake === null) return bad;
  if (handshake.length < 4) return more;
  if (handshake[0] !== 1) return bad;
  const length = handshake.readUIntBE(1, 3);
  if (length > maxHelloBytes) return bad;
  if (handshake.length < 4 + length) return more;
  try {
    return { state: 'read', hello: parseBody(handshake.subarray(4, 4 + length)) };
  } catch {
    return bad;
  }
}

/** The handshake bytes of as many whole or partial handshake records as have come; null when it is not TLS. */
function joinRecords(buffer: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; at + 5 <= buffer.length; ) {
    if (buffer[at] !== 0x16 || buffer[at + 1] !== 3) return null;
    const length = buffer.readUInt16BE(at + 3);
    if (length === 0 || length > 16_384) return null;
    parts.push(buffer.subarray(at + 5, Math.min(buffer.length, at + 5 + length)));
    at += 5 + length;
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Any out-of-range read throws, which the caller turns into `bad`. */
function parseBody(body: Buffer): ClientHello {
  let at = 2 + 32;
  at += 1 + body.readUInt8(at); // session id
  at += 2 + body.readUInt16BE(at); // cipher suites
  at += 1 + body.readUInt8(at); // compression methods
  if (at === body.length) return { sni: null, hiddenName: false };
  const end = at + 2 + body.readUInt16BE(at);
  if (end !== body.length) throw new RangeError('extensions do not end where the hello ends');
  at += 2;
  let sni: string | null = null;
  let hiddenName = false;
  while (at < end) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    const from = at + 4;
    if (from + length > end) throw new RangeError('an extension runs past the end');
    if (type === extensionServerName) {
      if (sni !== null) throw new RangeError('two server_name extensions');
      sni = parseServerName(body.subarray(from, from + length));
    }
    if (type === extensionEch) hiddenName = true;
    at = from + length;
  }
  return { sni, hiddenName };
}

function parseServerName(data: Buffer): string {
  const listLength = data.readUInt16BE(0);
  const nameLength = data.readUInt16BE(3);
  // One name of type host_name: RFC 6066 allows no second of the same type, and no other type was ever defined.
  if (listLength !== data.length - 2 || data.readUInt8(2) !== 0 || nameLength !== listLength - 3 || nameLength === 0) {
    throw new RangeError('malformed server_name');
  }
  return data.toString('latin1', 5, 5 + nameLength).toLowerCase();
}
