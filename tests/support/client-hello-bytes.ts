// ClientHello messages put together byte by byte: the names a real TLS library would never send are the ones to try.

export interface HelloParts {
  /** One server_name extension for each. */
  readonly names: readonly string[];
  /** A second name in the list of the first extension. */
  readonly second?: string;
  /** An encrypted_client_hello extension. */
  readonly ech?: boolean;
  /** Cut into records of so many bytes. */
  readonly recordBytes?: number;
}

function uint(value: number, bytes: number): Buffer {
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
}

function sized(bytes: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([uint(body.length, bytes), body]);
}

function extension(type: number, ...parts: Buffer[]): Buffer {
  return Buffer.concat([uint(type, 2), sized(2, ...parts)]);
}

const hostName = (name: string): Buffer => Buffer.concat([uint(0, 1), sized(2, Buffer.from(name, 'latin1'))]);

export function clientHelloBytes({ names, second, ech, recordBytes }: HelloParts): Buffer {
  const extensions = names.map((name, i) =>
    extension(0, sized(2, hostName(name), ...(i === 0 && second !== undefined ? [hostName(second)] : []))),
  );
  if (ech) extensions.unshift(extension(0xfe0d, Buffer.alloc(40, 1)));
  extensions.push(extension(43, Buffer.from([2, 3, 4])));
  const body = Buffer.concat([
    uint(0x0303, 2),
    Buffer.alloc(32, 7),
    sized(1, Buffer.alloc(32, 9)),
    sized(2, uint(0x1301, 2), uint(0x1302, 2)),
    sized(1, uint(0, 1)),
    sized(2, ...extensions),
  ]);
  const handshake = Buffer.concat([uint(1, 1), sized(3, body)]);
  const size = recordBytes ?? handshake.length;
  const records: Buffer[] = [];
  for (let at = 0; at < handshake.length; at += size) {
    records.push(Buffer.from([0x16, 3, 1]), sized(2, handshake.subarray(at, at + size)));
  }
  return Buffer.concat(records);
}
