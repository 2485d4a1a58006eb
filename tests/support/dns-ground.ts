// A DNS door on loopback and a client that speaks in bytes: for tests of what a sandbox is told and what it can break.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode, type RecordType } from 'dns-packet';
import { LocalMeters } from '../../src/gateway/store/local-meters.ts';
import { attachDns, type DnsPorts } from '../../src/stages/accept/dns/dns-door.ts';
import { createDnsLimits } from '../../src/stages/accept/dns/dns-limits.ts';

export const typeNumbers = { A: 1, NS: 2, SOA: 6, NULL: 10, PTR: 12, MX: 15, TXT: 16, AAAA: 28, HTTPS: 65, ANY: 255 };

export interface DnsGround {
  readonly port: number;
  readonly tcpPort: number;
  /** What was asked of the path, as `name type`. */
  readonly lookups: string[];
  readonly floods: number[];
  /** One message over UDP; null when there is no answer in time. */
  udp(message: Buffer, waitMs?: number): Promise<Buffer | null>;
  tcp(): Promise<Socket>;
  close(): Promise<void>;
}

export async function openDnsGround(
  isAllowed: (name: string) => boolean | 'in-words' = () => true,
): Promise<DnsGround> {
  const udp = createSocket('udp4');
  udp.bind(0, '127.0.0.1');
  const tcp = createServer();
  tcp.listen(0, '127.0.0.1');
  await Promise.all([once(udp, 'listening'), once(tcp, 'listening')]);
  const lookups: string[] = [];
  const floods: number[] = [];
  const limits = { dnsPerSecond: 100, gateway: { dnsPerSecond: 2000 } };
  const countQuestion = createDnsLimits({ limits: () => limits, meters: new LocalMeters() });
  const asker = { door: 'namespace', address: null, socketOf: 'sbx_test', proxyAuthorization: null };
  const ports: DnsPorts = {
    lookup: (name, type) => {
      lookups.push(`${name} ${type}`);
      return isAllowed(name.toLowerCase());
    },
    over: () => countQuestion(asker),
    flooded: () => floods.push(lookups.length),
  };
  const door = attachDns({ udp: [udp], tcp }, ports);
  const client = createSocket('udp4');
  client.bind(0, '127.0.0.1');
  await once(client, 'listening');
  const tcpPort = (tcp.address() as AddressInfo).port;
  return {
    port: udp.address().port,
    tcpPort,
    lookups,
    floods,
    udp: (message, waitMs = 10_000) => exchange(client, udp.address().port, message, waitMs),
    async tcp() {
      const socket = connect(tcpPort, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    async close() {
      const closed = Promise.all([once(udp, 'close'), once(tcp, 'close')]);
      client.close();
      door.close();
      await closed;
    },
  };
}

function exchange(client: UdpSocket, port: number, message: Buffer, waitMs: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(null), waitMs);
    const settle = (reply: Buffer | null): void => {
      clearTimeout(timer);
      client.off('message', settle);
      resolve(reply);
    };
    client.on('message', settle);
    client.send(message, port, '127.0.0.1');
  });
}

export interface Question {
  readonly id?: number;
  readonly edns?: boolean;
  readonly flags?: number;
}

/** The bytes of a question; types the library has no name for go by number. */
export function questionOf(name: string, type: keyof typeof typeNumbers | number = 'A', more: Question = {}): Buffer {
  const opt: Answer[] = more.edns
    ? [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: 1232,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [],
        },
      ]
    : [];
  const question = { name, type: 'A' as RecordType };
  const bare = encode({ id: more.id ?? 7, flags: more.flags ?? 0x0100, questions: [question] });
  bare.writeUInt16BE(typeof type === 'number' ? type : typeNumbers[type], bare.length - 4);
  if (opt.length === 0) return bare;
  bare.writeUInt16BE(1, 10);
  return Buffer.concat([bare, encode({ additionals: opt }).subarray(12)]);
}

export interface ReadReply extends DecodedPacket {
  readonly rcodeNumber: number;
}

export function readReply(reply: Buffer | null): ReadReply {
  if (reply === null) throw new Error('there was no answer');
  const packet = decode(reply);
  if (decode.bytes !== reply.length) throw new Error('the answer has bytes after its end');
  return { ...packet, rcodeNumber: reply.readUInt16BE(2) & 0xf };
}

/** The addresses in an answer. */
export function addressesIn(reply: Buffer | null): string[] {
  return (readReply(reply).answers ?? []).map((answer) => ('data' in answer ? String(answer.data) : ''));
}

/** As many framed messages as `count`, in the order they come. */
export async function readFramed(socket: Socket, count: number): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  let rest = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const end = 2 + rest.readUInt16BE(0);
      messages.push(rest.subarray(2, end));
      rest = rest.subarray(end);
    }
    if (messages.length >= count) break;
  }
  return messages;
}

export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}
