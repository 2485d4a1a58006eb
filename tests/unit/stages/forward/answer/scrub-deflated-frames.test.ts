import { constants, createDeflateRaw, type DeflateRaw, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BodyWriter } from '../../../../../src/path/exchange/exchange.ts';
import {
  closeFrame,
  type FrameHead,
  FrameReader,
  serverFrameHead,
} from '../../../../../src/protocols/websocket/websocket-frames.ts';
import { ClientEnd, head, key, masked, pour, scrubbed } from './scrub-ground.ts';

const tail = Buffer.from([0x00, 0x00, 0xff, 0xff]);

/** A server's compressor (RFC 7692 section 7.2.1). */
class Compressor {
  readonly #engine: DeflateRaw;
  readonly #keeps: boolean;

  constructor(windowBits = 15, keepsContext = true) {
    this.#engine = createDeflateRaw({ windowBits });
    this.#keeps = keepsContext;
  }

  async message(content: Buffer): Promise<Buffer> {
    const out: Buffer[] = [];
    const take = (piece: Buffer): void => {
      out.push(piece);
    };
    this.#engine.on('data', take);
    if (content.length > 0) this.#engine.write(content);
    await new Promise<void>((resolve) => this.#engine.flush(constants.Z_SYNC_FLUSH, resolve));
    this.#engine.off('data', take);
    if (!this.#keeps) this.#engine.reset();
    const bytes = Buffer.concat(out);
    return bytes.subarray(-4).equals(tail) ? bytes.subarray(0, -4) : bytes;
  }
}

/** The content in as many frames, marked as compressed or not, with a ping between them. */
function framed(opcode: number, content: Buffer, cuts: readonly number[], isDeflated: boolean, pings: boolean): Buffer {
  const places = [0, ...cuts.filter((at) => at < content.length).sort((a, b) => a - b), content.length];
  const parts = places.slice(1).flatMap((to, i) => {
    const part = content.subarray(places[i], to);
    const frameHead = Buffer.from(serverFrameHead(i === 0 ? opcode : 0, i === places.length - 2, part.length));
    if (i === 0 && isDeflated) frameHead[0]! |= 0x40;
    return [frameHead, part, ...(pings ? [serverFrameHead(9, true, 4), Buffer.from('ping')] : [])];
  });
  return Buffer.concat(parts);
}

function live(end: ClientEnd, agreed = 'permessage-deflate; server_max_window_bits=12'): BodyWriter {
  const offer = 'permessage-deflate; client_max_window_bits; server_max_window_bits=12, permessage-deflate';
  const exchange = scrubbed(end, { outgoing: [['Sec-WebSocket-Extensions', offer]] });
  exchange.respond(head({ kind: 'until-close' }, [['Sec-WebSocket-Extensions', agreed]], 101));
  return exchange.goRaw(end);
}

interface Message {
  opcode: number;
  content: Buffer;
  frames: number;
}

/** What a client reads: messages in order, and how many pings came in all. */
function messagesIn(bytes: Buffer): { messages: Message[]; pings: number } {
  const messages: Message[] = [];
  let pings = 0;
  const reader = new FrameReader('server', false, {
    onHead: ({ isControl, opcode }: FrameHead) => {
      if (!isControl && opcode !== 0) messages.push({ opcode, content: Buffer.alloc(0), frames: 0 });
    },
    onContent: (content, _raw, { isControl }) => {
      const message = messages.at(-1);
      if (!isControl) message!.content = Buffer.concat([message!.content, content]);
    },
    onEnd: ({ isControl }) => {
      if (isControl) pings++;
      else messages.at(-1)!.frames++;
    },
  });
  reader.feed(bytes);
  expect(reader.isBetweenMessages).toBe(true);
  return { messages, pings };
}

describe('a credential in the compressed messages of a WebSocket is replaced', () => {
  test('any messages, in any frames and pieces, with and without context: the client reads what was sent, masked', async () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('x', ' ', 'k', 'e'), maxLength: 120 }),
      fc.integer({ min: 1, max: 100_000 }).map((size) => 'filling '.repeat(size / 8)),
    );
    const message = fc.record({
      lead: text,
      rest: text,
      cuts: fc.array(fc.nat({ max: 150 }), { maxLength: 3 }),
      isDeflated: fc.boolean(),
      opcode: fc.constantFrom(1, 2),
    });
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 5 }),
        sizes,
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom(9, 12, 15),
        async (sent, pieces, pings, keeps, bits) => {
          const compressor = new Compressor(bits, keeps);
          const parts: Buffer[] = [];
          for (const { lead, rest, cuts, isDeflated, opcode } of sent) {
            const content = Buffer.from(`${lead}${key}${rest}`);
            const carried = isDeflated ? await compressor.message(content) : content;
            parts.push(framed(opcode, carried, cuts, isDeflated, pings));
          }
          const end = new ClientEnd('wire');
          const writer = live(end);
          await pour(writer, Buffer.concat(parts), pieces);
          writer.end(null);
          await end.until(({ over }) => over !== 'no');
          expect(end.over).toBe('whole');
          const { messages, pings: seen } = messagesIn(end.bytes);
          expect(messages.map(({ opcode, content }) => [opcode, content.toString()])).toEqual(
            sent.map(({ lead, rest, opcode }) => [opcode, `${lead}${masked}${rest}`]),
          );
          expect(seen).toBe(pings ? sent.reduce((sum, { cuts }, i) => sum + framesOf(cuts, parts[i]!), 0) : 0);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('a message that came in one frame goes on in one, unless it is long', async () => {
    const end = new ClientEnd('wire');
    const writer = live(end);
    const compressor = new Compressor();
    for (const size of [0, 10, 60_000, 300_000]) {
      writer.write(framed(1, await compressor.message(Buffer.alloc(size, 'words ')), [], true, false));
    }
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    const { messages } = messagesIn(end.bytes);
    expect(messages.map(({ content }) => content.length)).toEqual([0, 10, 60_000, 300_000]);
    expect(messages.map(({ frames }) => frames === 1)).toEqual([true, true, true, false]);
  });

  test('a part of a message is passed on before the next part comes', async () => {
    const end = new ClientEnd('wire');
    const writer = live(end);
    const engine = createDeflateRaw();
    const flushed = new Promise<Buffer>((resolve) => engine.once('data', resolve));
    engine.write('data: one');
    engine.flush(constants.Z_SYNC_FLUSH);
    const part = await flushed;
    const frameHead = Buffer.from(serverFrameHead(1, false, part.length));
    frameHead[0]! |= 0x40;
    writer.write(Buffer.concat([frameHead, part]));
    await end.until(({ text }) => text.includes('data: one'));
    expect(end.over).toBe('no');
  });

  test('messages that end with a last block are read, and the next begins afresh', async () => {
    const end = new ClientEnd('wire');
    const writer = live(end);
    // RFC 7692 section 7.2.3.4.
    const hello = Buffer.from([0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]);
    const own = Buffer.concat([deflateRawSync(`it is ${key}`), Buffer.from([0])]);
    for (const content of [hello, own, hello]) await pour(writer, framed(1, content, [3], true, false), [4, 1, 1]);
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect(messagesIn(end.bytes).messages.map(({ content }) => content.toString())).toEqual([
      'Hello',
      `it is ${masked}`,
      'Hello',
    ]);
  });

  test('a bomb goes off at the pace of the client', async () => {
    const end = new ClientEnd('wire');
    const writer = live(end);
    end.hasRoom = false;
    const bombBytes = 64 * 1024 * 1024;
    const bomb = deflateRawSync(Buffer.alloc(bombBytes), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    expect(writer.write(framed(2, bomb, [], true, false))).toBe(false);
    await end.until(({ bytes }) => bytes.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(end.bytes.length).toBeLessThan(1024 * 1024);
    let asked = false;
    writer.onDrain = () => {
      asked = true;
    };
    end.makeRoom();
    await end.until(({ bytes }) => bytes.length > 4 * 1024 * 1024);
    end.hasRoom = false;
    expect(asked).toBe(false);
    // All that was passed on are whole frames: a last one says that it is over, and not why.
    writer.fail(new Error('enough'));
    expect(end.over).toBe('whole');
    expect(end.bytes.subarray(-4)).toEqual(closeFrame(1011, ''));
  });

  test.each([
    ['that does not decompress', 1007, framed(1, Buffer.from([0xff, 0xff, 0xff]), [], true, false)],
    [
      'that goes on after its end',
      1007,
      framed(1, Buffer.concat([deflateRawSync('a'), Buffer.from(key)]), [], true, false),
    ],
    [
      'that is continued as another',
      1002,
      Buffer.concat([framed(1, Buffer.from('a'), [], false, false), Buffer.from([0xc0, 0])]),
    ],
    ['with another bit of an extension', 1002, Buffer.from([0xa1, 0x00])],
  ])('a message %s is not passed on, and the client is told', async (_what, code, bytes) => {
    const words = 'sent a WebSocket message that cannot be read';
    const end = new ClientEnd('wire');
    const writer = live(end);
    writer.write(bytes);
    await end.until(({ over }) => over === 'whole');
    const last = end.bytes.subarray(end.bytes.lastIndexOf(0x88));
    expect(last.readUInt16BE(2)).toBe(code);
    expect(last.subarray(4).toString()).toContain(words);
    expect(end.text).not.toContain(key.slice(0, 5));
  });

  test.each([
    ['an extension that nobody knows', 'x-webkit-rot13'],
    ['two at once', 'permessage-deflate, permessage-deflate'],
    ['a parameter that nobody knows', 'permessage-deflate; dictionary'],
    ['a window that is none', 'permessage-deflate; server_max_window_bits=16'],
  ])('an upstream that agrees on what it was not offered is refused: %s', (_what, agreed) => {
    const end = new ClientEnd('wire');
    expect(() => live(end, agreed)).toThrow(/was not offered/);
    expect(end.answered).toBe(false);
  });
});

function framesOf(cuts: readonly number[], bytes: Buffer): number {
  let frames = 0;
  new FrameReader('server', true, {
    onHead: ({ isControl }) => {
      if (!isControl) frames++;
    },
    onContent: () => {},
    onEnd: () => {},
  }).feed(bytes);
  expect(frames).toBeLessThanOrEqual(cuts.length + 1);
  return frames;
}
