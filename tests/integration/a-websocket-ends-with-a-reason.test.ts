// A WebSocket on which one side breaks the framing (RFC 6455 section 5): what came before is delivered, both sides hear why
// in a Close frame, and the record says who it was. What is left to the endpoints, they still judge themselves.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type FrameHead, FrameReader } from '../../src/protocols/websocket/websocket-frames.ts';
import { eventually } from '../support/eventually.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { startFarGateway } from '../support/far-gateway.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { openTls, TunnelAgent } from '../support/tunnel-client.ts';

const honest = 'echo.example';
const broken = 'broken.example';
/** What the broken far side says behind its handshake. */
let script: Buffer = Buffer.alloc(0);
let heardByBroken: Buffer = Buffer.alloc(0);
let closings: number[] = [];
/** As most are, and one that searches no answer. */
const gateways = new Map<string, TestGateway>();
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, [honest], (_request, response) => response.end());
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      webSocket.on('close', (code) => closings.push(code));
      webSocket.on('message', (data, binary) => webSocket.send(data, { binary, compress: false }));
    });
  });
  const raw = await startRawUpstream({
    tls: { ca, names: [broken] },
    serve: async ({ wire, socket }) => {
      const head = await wire.until('\r\n\r\n');
      wire.release();
      socket.on('data', (chunk: Buffer) => {
        heardByBroken = Buffer.concat([heardByBroken, chunk]);
      });
      socket.resume();
      const accept = acceptOf(/sec-websocket-key: (\S+)/i.exec(head)![1]!);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.write(script);
    },
  });
  const hosts = { [honest]: upstream, [broken]: raw };
  const searched = await startFarGateway(ca, hosts, {
    credentials: { key: { hosts: ['elsewhere.example'], inject: { header: 'x-api-key' } } },
  });
  await searched.setSecret('key', 'the-real-key');
  const unsearched = await startFarGateway(ca, hosts, { secrets: { scrub: false } });
  gateways.set('searched', searched).set('unsearched', unsearched);
  closers.push(searched.stop, unsearched.stop, upstream.close, raw.close);
});

afterAll(async () => {
  for (const close of closers) await close();
});

beforeEach(() => {
  closings = [];
  heardByBroken = Buffer.alloc(0);
});

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

/** As a client writes it, masked with zeros. */
function masked(first: number, content: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(content);
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), bytes]);
}

interface Ending {
  readonly messages: string[];
  /** Null: no Close frame came. */
  readonly close: { readonly code: number; readonly words: string } | null;
  /** Frames behind the Close frame: there may be none. */
  readonly behind: number;
}

/** Reads a server's frames to the end of the connection. */
function endingOf(bytes: Buffer): Ending {
  const messages: string[] = [];
  let close: Ending['close'] = null;
  let behind = 0;
  let content: Buffer[] = [];
  const reader = new FrameReader('server', false, {
    onHead: () => {
      if (close !== null) behind++;
    },
    onContent: (piece) => content.push(piece),
    onEnd: ({ opcode }: FrameHead) => {
      const all = Buffer.concat(content);
      content = [];
      if (opcode === 8)
        close ??= { code: all.length < 2 ? 1005 : all.readUInt16BE(0), words: all.subarray(2).toString() };
      else messages.push(all.toString());
    },
  });
  reader.feed(bytes);
  expect(reader.isBetweenFrames).toBe(true);
  return { messages, close, behind };
}

/** By hand: opens a WebSocket, sends these pieces one after the other, and waits until the other side has ended it. */
async function converse(
  gateway: TestGateway,
  host: string,
  pieces: readonly Buffer[],
  { deflate = false } = {},
): Promise<Ending> {
  const client = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
  const heard: Buffer[] = [];
  client.on('data', (chunk: Buffer) => heard.push(chunk));
  const ended = once(client, 'end');
  const offer = deflate ? 'Sec-WebSocket-Extensions: permessage-deflate\r\n' : '';
  client.write(
    `GET /live HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${offer}\r\n`,
  );
  await eventually(() => Buffer.concat(heard).includes('\r\n\r\n'), 'it is let through');
  for (const piece of pieces) {
    client.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await ended;
  client.destroy();
  const all = Buffer.concat(heard);
  return endingOf(all.subarray(all.indexOf('\r\n\r\n') + 4));
}

const before = masked(0x81, 'before');
/** Autobahn's families: reserved bits, reserved opcodes, control frames, fragmentation, masks, lengths. */
const illegal: readonly (readonly [string, Buffer])[] = [
  ['a compressed message that was not agreed on', masked(0xc1, 'x')],
  ['the second reserved bit', masked(0xa1, 'x')],
  ['the third reserved bit', masked(0x91, 'x')],
  ['all reserved bits on a ping', masked(0xf9)],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`the reserved opcode ${opcode}`, masked(0x80 | opcode, 'x')] as const,
  ),
  ['a ping in fragments', masked(0x09, 'x')],
  ['a pong in fragments', masked(0x0a, 'x')],
  ['a Close in fragments', masked(0x08, '\x03\xe8')],
  ['a ping of 126 bytes', masked(0x89, 'x'.repeat(126))],
  ['a Close of 126 bytes', masked(0x88, 'x'.repeat(126))],
  ['a continuation of nothing', masked(0x80, 'x')],
  ['a first fragment as a continuation', masked(0x00, 'x')],
  ['a message inside another', Buffer.concat([masked(0x01, 'half'), masked(0x81, 'x')])],
  ['a ping, and then a message inside another', Buffer.concat([masked(0x01, 'half'), masked(0x89), masked(0x82)])],
  ['a frame without a mask', Buffer.from([0x81, 1, 0x78])],
];

describe.each(['searched', 'unsearched'])('where answers are %s', (kind) => {
  test.each(illegal)('after %s of the client it hears its echo, then 1002', async (_what, frame) => {
    for (const pieces of [[Buffer.concat([before, frame])], [before, frame, masked(0x81, 'behind')]]) {
      closings = [];
      const { messages, close, behind } = await converse(gateways.get(kind)!, honest, pieces);
      expect({ messages: messages.filter((one) => one !== ''), code: close?.code, behind }).toEqual({
        messages: ['before'],
        code: 1002,
        behind: 0,
      });
      await eventually(() => closings.length, 'the far side hears of it');
      expect(closings).toEqual([1002]);
    }
    const record = (await gateways.get(kind)!.journal()).at(-1)!;
    expect(record).toMatchObject({ kind: 'websocket', verdict: 'refused', code: 'malformed.framing' });
  });

  test('a frame longer than any ends with 1009', async () => {
    const frame = Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    const { messages, close } = await converse(gateways.get(kind)!, honest, [before, frame]);
    expect([messages, close?.code]).toEqual([['before'], 1009]);
    await eventually(() => closings.length, 'the far side hears of it');
  });

  test('a compressed message that cannot be unfolded ends with 1007, behind what came before', async () => {
    const { messages, close } = await converse(
      gateways.get(kind)!,
      honest,
      [before, masked(0xc1, Buffer.alloc(40, 0xff))],
      {
        deflate: true,
      },
    );
    expect([messages, close?.code]).toEqual([['before'], 1007]);
    await eventually(() => closings.length, 'the far side hears of it');
    expect(closings).toEqual([1007]);
  });

  test('again and again, the echo is never lost', async () => {
    const frame = Buffer.concat([before, masked(0x83, 'x')]);
    const all = await Promise.all(Array.from({ length: 40 }, () => converse(gateways.get(kind)!, honest, [frame])));
    expect(all.map(({ messages, close }) => [messages, close?.code])).toEqual(
      Array.from({ length: 40 }, () => [['before'], 1002]),
    );
  });

  // Framing is whole there: the far side judges, and its answer comes through.
  test.each([
    ['a Close of one byte', masked(0x88, 'x'), 1002],
    ['a Close with a code that may not be sent', masked(0x88, Buffer.from([0x03, 0xed])), 1002],
    ['a Close with a code of nobody', masked(0x88, Buffer.from([0x03, 0x00])), 1002],
    ['a reason that is no UTF-8', masked(0x88, Buffer.from([0x03, 0xe8, 0xff, 0xfe])), 1007],
    ['a text that is no UTF-8', masked(0x81, Buffer.from([0xc0, 0xaf])), 1007],
  ])('%s is judged by the far side', async (_what, frame, code) => {
    const { messages, close } = await converse(gateways.get(kind)!, honest, [before, frame]);
    expect([messages, close?.code]).toEqual([['before'], code]);
  });

  const served = (first: number, content = ''): Buffer =>
    Buffer.concat([Buffer.from([first, content.length]), Buffer.from(content)]);

  test.each([
    ['a reserved bit', served(0xa1, 'x'), 1002],
    ['a reserved opcode', served(0x83, 'x'), 1002],
    ['a ping in fragments', served(0x09, 'x'), 1002],
    ['a continuation of nothing', served(0x80, 'x'), 1002],
    ['a message inside another', Buffer.concat([served(0x01), served(0x81, 'x')]), 1002],
    ['a masked frame', masked(0x81, 'x'), 1002],
    ['a frame longer than any', Buffer.from([0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]), 1009],
  ])('after %s of the far side both hear of it', async (_what, frame, code) => {
    script = Buffer.concat([served(0x81, 'before'), frame, served(0x81, 'behind')]);
    const { messages, close, behind } = await converse(gateways.get(kind)!, broken, []);
    const said = messages.filter((one) => one !== '');
    expect({ said, code: close?.code, behind }).toEqual({ said: ['before'], code, behind: 0 });
    expect(close!.words).toContain(`${broken} sent a WebSocket message that cannot be read`);
    await eventually(() => heardByBroken.length, 'the far side hears of it');
    // Masked, as a client must.
    expect([heardByBroken[0], heardByBroken[1]]).toEqual([0x88, 0x82]);
    const told = [6, 7].map((at) => heardByBroken[at]! ^ heardByBroken[at - 4]!);
    expect(Buffer.from(told).readUInt16BE(0)).toBe(code);
    const record = await eventually(
      async () => (await gateways.get(kind)!.journal()).findLast(({ host }) => host === broken),
      'it is in the journal',
    );
    expect(record).toMatchObject({ kind: 'websocket', verdict: 'failed', code: 'upstream.protocol' });
  });
});

test('the client `ws` gets its echo and 1002, and its own 1002 where the far side is at fault', async () => {
  const gateway = gateways.get('searched')!;
  const talk = async (host: string, act: (socket: WebSocket) => void): Promise<[string[], number, string]> => {
    const socket = new WebSocket(`wss://${host}/live`, {
      agent: new TunnelAgent(gateway, gateway.caPath),
      perMessageDeflate: false,
    });
    const messages: string[] = [];
    socket.on('message', (data) => messages.push(data.toString()));
    socket.on('open', () => act(socket));
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
    return [messages, code, reason.toString()];
  };
  const wire = (socket: WebSocket): Duplex => Reflect.get(socket, '_socket') as Duplex;
  const own = await talk(honest, (socket) => {
    socket.send('before');
    wire(socket).write(masked(0x83, 'x'));
  });
  expect(own.slice(0, 2)).toEqual([['before'], 1002]);
  script = Buffer.from([0x81, 1, 0x61, 0x83, 0]);
  const farSide = await talk(broken, () => {});
  expect(farSide).toEqual([
    ['a'],
    1002,
    `${broken} sent a WebSocket message that cannot be read: a frame of an unknown kind`,
  ]);
});

const pythonClient = `
import asyncio, socket, ssl, sys, websockets
host, proxy_port, ca = sys.argv[1], int(sys.argv[2]), sys.argv[3]
sock = socket.create_connection(("127.0.0.1", proxy_port))
sock.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n".encode())
head = b""
while b"\\r\\n\\r\\n" not in head:
    head += sock.recv(1)
async def main():
    context = ssl.create_default_context(cafile=ca)
    async with websockets.connect(f"wss://{host}/live", sock=sock, ssl=context, server_hostname=host) as ws:
        if host == "${honest}":
            await ws.send("before")
            ws.transport.write(bytes([0x83, 0x80, 0, 0, 0, 0]))
        print(await ws.recv())
        try:
            await ws.recv()
        except websockets.ConnectionClosed:
            print(ws.close_code)
asyncio.run(main())`;

test.each([honest, broken])('python websockets gets the message and 1002: %s', async (host) => {
  script = Buffer.concat([Buffer.from([0x81, 6]), Buffer.from('before'), Buffer.from([0x83, 0])]);
  const { port, caPath } = gateways.get('searched')!;
  const run = await runClient('/usr/bin/python3', ['-c', pythonClient, host, `${port}`, caPath]);
  expect(run).toMatchObject({ stderr: '', stdout: 'before\n1002\n' });
});
