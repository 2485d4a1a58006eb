import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Caller, RawRequest } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { createDnsCallers } from '../../../../../src/stages/accept/dns/dns-callers.ts';
import type { DnsClients } from '../../../../../src/stages/accept/dns/dns-client.ts';
import { serveDns } from '../../../../../src/stages/accept/dns/dns-door.ts';
import { createDnsLimits } from '../../../../../src/stages/accept/dns/dns-limits.ts';
import { addressesIn, framed, questionOf, readFramed, readReply } from '../../../../support/dns-ground.ts';
import { eventually } from '../../../../support/eventually.ts';
import { usualLimits } from '../../../../support/hand-made-limits.ts';
import { settle } from '../../../../support/settle.ts';

const door = '172.30.0.2';
const rcode = { noError: 0, nxDomain: 3, refused: 5 };

interface Ground extends DnsClients {
  /** What was put on the path, as `address target code?`, with and without a record. */
  readonly recorded: string[];
  readonly callers: Set<Caller>;
  readonly registered: Map<string, string>;
  ask(from: string, name: string, type?: 'A' | 'AAAA' | 'TXT' | 'MX', edns?: boolean): Buffer | null;
}

function openGround(v6: string | null = null, now?: () => number): Ground {
  const recorded: string[] = [];
  const callers = new Set<Caller>();
  const registered = new Map([
    ['172.30.0.11', 'sbx_one'],
    ['172.30.0.12', 'sbx_two'],
  ]);
  const isAllowed = (caller: Caller, request: RawRequest): boolean => {
    callers.add(caller);
    return registered.has(caller.address ?? '') && request.target.toLowerCase().startsWith('api.example.com/');
  };
  const countQuestion = createDnsLimits({ limits: () => usualLimits, meters: new LocalMeters(now) });
  const clients = createDnsCallers({
    door: `gateway ${door}`,
    voice: { addressesOf: () => ({ v4: door, v6 }), isResolver: false },
    path: {
      admit({ caller, request, exchange }) {
        if (request.fault === null && isAllowed(caller, request)) return {};
        recorded.push([caller.address, request.target, ...(request.fault ? [request.fault.code] : [])].join(' '));
        exchange.answer(403, new HeaderList(), undefined as never);
        return null;
      },
      whyNot: ({ caller, request }) =>
        isAllowed(caller, request) ? null : new Refusal('domain.not-allowed', 'not allowed', { hint: '' }),
      countQuestion,
    },
    sandboxAt: (address) => registered.get(address) ?? null,
    confirm: () => null,
  });
  return {
    ...clients,
    recorded,
    callers,
    registered,
    ask: (from, name, type = 'A', edns = false) => clients.at(from).answer(questionOf(name, type, { edns }), from),
  };
}

describe('a registered sandbox is told the address of the door', () => {
  test('as A, and nothing as AAAA where the door has no IPv6', () => {
    const ground = openGround();
    expect(addressesIn(ground.ask('172.30.0.11', 'aPi.example.COM'))).toEqual([door]);
    const six = readReply(ground.ask('172.30.0.11', 'api.example.com', 'AAAA'));
    expect(six).toMatchObject({ rcodeNumber: rcode.noError, answers: [], authorities: [{ type: 'SOA' }] });
    expect(addressesIn(openGround('2001:db8::2').ask('172.30.0.11', 'api.example.com', 'AAAA'))).toHaveLength(1);
  });

  test('every other name does not exist, and that is written down for the one who asked', () => {
    const ground = openGround();
    expect(readReply(ground.ask('172.30.0.12', 'c2VjcmV0.evil.example')).rcodeNumber).toBe(rcode.nxDomain);
    expect(readReply(ground.ask('172.30.0.12', 'api.example.com', 'TXT')).rcodeNumber).toBe(rcode.refused);
    expect(ground.recorded).toEqual(['172.30.0.12 c2VjcmV0.evil.example/A']);
  });

  test('it answers by its own authority and offers to ask nobody, so that glibc and Go believe an empty answer', () => {
    const ground = openGround();
    const flags = { flag_ra: false, flag_aa: true, flag_rd: true };
    expect(readReply(ground.ask('172.30.0.11', 'api.example.com'))).toMatchObject(flags);
    expect(readReply(ground.ask('172.30.0.11', 'api.example.com', 'MX'))).toMatchObject(flags);
    expect(readReply(ground.ask('172.30.0.11', 'evil.example'))).toMatchObject(flags);
    expect(readReply(ground.ask('172.30.0.11', 'evil.example', 'TXT'))).toMatchObject({
      flag_ra: false,
      flag_aa: false,
    });
    expect(readReply(ground.ask('172.30.0.99', 'evil.example'))).toMatchObject({ flag_ra: false, flag_aa: false });
  });

  test('it is one caller for all its questions, so that who it is is looked up once', () => {
    const ground = openGround();
    for (let i = 0; i < 3; i++) ground.ask('172.30.0.11', 'api.example.com');
    expect([...ground.callers]).toEqual([
      { door: `gateway ${door}`, address: '172.30.0.11', socketOf: null, proxyAuthorization: null },
    ]);
  });
});

describe('sandboxes do not share what is theirs', () => {
  test('one that floods is refused, the other is answered', () => {
    const ground = openGround(null, () => 0);
    const codes = Array.from(
      { length: 230 },
      () => readReply(ground.ask('172.30.0.11', 'api.example.com')).rcodeNumber,
    );
    expect(codes.slice(0, 200)).toEqual(new Array(200).fill(rcode.noError));
    expect(codes.at(-1)).toBe(rcode.refused);
    expect(ground.recorded).toEqual(['172.30.0.11 */ANY limit.rate']);
    expect(addressesIn(ground.ask('172.30.0.12', 'api.example.com'))).toEqual([door]);
  });

  test('what was written down of one sandbox is written down of the next at its address too', () => {
    const ground = openGround();
    ground.ask('172.30.0.11', 'evil.example');
    ground.ask('172.30.0.11', 'evil.example');
    expect(ground.recorded).toHaveLength(1);
    ground.registered.set('172.30.0.11', 'sbx_three');
    ground.ask('172.30.0.11', 'evil.example');
    expect(ground.recorded).toHaveLength(2);
    expect(ground.callers.size).toBe(2);
  });
});

describe('a stranger learns nothing', () => {
  test('not even what exists, and is written down once a minute', () => {
    const ground = openGround();
    for (const name of ['api.example.com', 'evil.example', 'localhost', '.', '1.0.0.127.in-addr.arpa']) {
      expect(readReply(ground.ask('172.30.0.99', name))).toMatchObject({ rcodeNumber: rcode.refused, answers: [] });
    }
    expect(ground.recorded).toEqual(['172.30.0.99 api.example.com/A']);
  });

  test('in an answer that is never longer than the question', () => {
    const ground = openGround();
    for (const edns of [true, false]) {
      for (const name of ['.', 'a.b', 'api.example.com', `${'a'.repeat(63)}.example`]) {
        const question = questionOf(name, 'A', { edns });
        expect(ground.ask('172.30.0.99', name, 'A', edns)!.length).toBeLessThanOrEqual(question.length);
      }
    }
  });

  test('all of them together get few answers and few records, however many addresses they claim', () => {
    const ground = openGround();
    const answered = Array.from({ length: 500 }, (_, i) => ground.ask(`10.9.${i >> 8}.${i & 255}`, 'x.example'));
    expect(answered.filter((one) => one !== null).length).toBeLessThan(70);
    expect(ground.recorded.length).toBeLessThan(70);
    expect(ground.recorded.filter((one) => one.endsWith('limit.rate'))).toEqual([' */ANY limit.rate']);
    // And a sandbox has its own.
    expect(addressesIn(ground.ask('172.30.0.11', 'api.example.com'))).toEqual([door]);
  });
});

describe('who must be confirmed first waits for it', () => {
  let sockets: { udp: UdpSocket; tcp: Server; client: UdpSocket };
  let served: { close(): void };

  afterEach(() => {
    sockets.client.close();
    served.close();
  });

  interface Confirming {
    readonly answered: string[];
    /** Somebody else has been registered at the address. */
    readonly begin: () => void;
    readonly release: () => void;
  }

  async function serve(maxHeld: number): Promise<Confirming> {
    const udp = createSocket('udp4').bind(0, '127.0.0.1');
    const tcp = createServer().listen(0, '127.0.0.1');
    const client = createSocket('udp4').bind(0, '127.0.0.1');
    sockets = { udp, tcp, client };
    await Promise.all([udp, tcp, client].map((one) => once(one, 'listening')));
    let release = (): void => {};
    let confirming: Promise<void> | null = null;
    const begin = (): void => {
      confirming = new Promise((resolve) => {
        release = () => {
          confirming = null;
          resolve();
        };
      });
    };
    begin();
    const answered: string[] = [];
    const answer = (message: Buffer): Buffer => {
      answered.push('asked');
      return message;
    };
    const only = { held: 0, maxHeld, answer };
    served = serveDns({ udp: [udp], tcp }, { confirm: () => confirming, at: () => only });
    return { answered, begin, release: () => release() };
  }

  test('over UDP: nothing is decided before, and no more wait than there are places', async () => {
    const ground = await serve(2);
    const { udp, client } = sockets;
    const question = questionOf('api.example.com');
    let arrived = 0;
    udp.on('message', () => arrived++);
    for (let i = 0; i < 5; i++) client.send(question, udp.address().port, '127.0.0.1');
    await eventually(() => arrived === 5, 'all of them are there');
    expect(ground.answered).toEqual([]);
    const replies: Buffer[] = [];
    client.on('message', (reply) => replies.push(reply));
    ground.release();
    await settle(50);
    expect(replies).toHaveLength(2);
    client.send(question, udp.address().port, '127.0.0.1');
    await once(client, 'message');
    expect(ground.answered).toHaveLength(3);
  });

  test('over TCP: a connection is not read before', async () => {
    const ground = await serve(2);
    const socket = connect((sockets.tcp.address() as AddressInfo).port, '127.0.0.1');
    socket.write(framed(questionOf('api.example.com')));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ground.answered).toEqual([]);
    ground.release();
    expect(await readFramed(socket, 1)).toHaveLength(1);
    ground.begin();
    socket.write(framed(questionOf('api.example.com')));
    // A connection may be older than the registration: it is ended, and a new one waits.
    expect(await readFramed(socket, 1)).toEqual([]);
    expect(ground.answered).toHaveLength(1);
  });
});
