import { randomBytes } from 'node:crypto';
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import type { Framing } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Forwarded } from '../../../../../src/path/flow.ts';
import { Http1Error } from '../../../../../src/protocols/http1/http1-error.ts';
import { untilPassedOn } from '../../../../../src/stages/forward/answer/scrubbed-answer.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ClientEnd, head, key, masked, pour, scrubbed, scrubbedFlow } from './scrub-ground.ts';

const chunked: Framing = { kind: 'chunked' };
const asksForAll: [string, string][] = [['Accept-Encoding', 'gzip, deflate, br']];

interface Coding {
  readonly name: string;
  readonly code: (content: Buffer) => Buffer;
  readonly decode: (coded: Buffer) => Buffer;
}

const codings: readonly Coding[] = [
  { name: 'gzip', code: (content) => gzipSync(content), decode: gunzipSync },
  { name: 'x-gzip', code: (content) => gzipSync(content, { level: 0 }), decode: gunzipSync },
  { name: 'deflate', code: (content) => deflateSync(content), decode: inflateSync },
  // The form that some servers send; what goes on is in the one that the name stands for.
  { name: 'deflate', code: (content) => deflateRawSync(content), decode: inflateSync },
  { name: 'br', code: (content) => brotliCompressSync(content), decode: brotliDecompressSync },
];

function unchunk(wire: string): Buffer {
  const parts: string[] = [];
  for (let at = 0; ; ) {
    const lineEnd = wire.indexOf('\r\n', at);
    const size = Number.parseInt(wire.slice(at, lineEnd), 16);
    if (size === 0) {
      expect(wire.slice(lineEnd)).toBe('\r\n\r\n');
      return Buffer.from(parts.join(''), 'latin1');
    }
    expect(size).toBeGreaterThan(0);
    parts.push(wire.slice(lineEnd + 2, lineEnd + 2 + size));
    expect(wire.slice(lineEnd + 2 + size, lineEnd + 4 + size)).toBe('\r\n');
    at = lineEnd + 4 + size;
  }
}

function toChunks(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

describe('a compressed answer is decoded, searched and compressed again', () => {
  const filler = fc.oneof(
    fc.string({ unit: fc.constantFrom('x', ' ', '\n', 'k', 'e'), maxLength: 300 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.integer({ min: 1, max: 200_000 }).map((size) => Buffer.alloc(size, 'filling ')),
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 30 });

  test('any content, any coding, any pieces, the credential anywhere: what decodes is what was sent, masked', async () => {
    await fc.assert(
      fc.asyncProperty(
        filler,
        filler,
        fc.constantFrom(...codings),
        sizes,
        fc.constantFrom('wire', 'payload'),
        fc.integer({ min: 1, max: 5000 }),
        async (lead, tail, { name, code, decode }, pieces, form, chunkSize) => {
          const coded = code(Buffer.concat([lead, Buffer.from(key), tail]));
          const end = new ClientEnd(form as 'wire' | 'payload');
          const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', name]]));
          await pour(writer, form === 'wire' ? toChunks(coded, chunkSize) : coded, pieces);
          writer.end(null);
          await end.until(({ over }) => over !== 'no');
          expect(end.over).toBe('whole');
          expect(end.head?.headers.get('content-encoding')).toBe(name);
          const content = decode(form === 'wire' ? unchunk(end.text) : end.bytes);
          expect(content.equals(Buffer.concat([lead, Buffer.from(masked), tail]))).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });

  test.each(codings)('$name: what has come is passed on before the next comes', async ({ name }) => {
    const coder = name === 'br' ? createBrotliCompress() : name === 'deflate' ? createDeflate() : createGzip();
    const decoder = name === 'br' ? createBrotliDecompress() : name === 'deflate' ? createInflate() : createGunzip();
    let read = '';
    decoder.on('data', (piece: Buffer) => {
      read += piece.toString();
    });
    const end = new ClientEnd('payload');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', name]]));
    coder.on('data', (piece: Buffer) => writer.write(piece));
    let given = 0;
    for (const event of ['data: one\n\n', `data: ${key}\n\n`, 'data: three\n\n']) {
      coder.write(event);
      coder.flush();
      const expected = read + event.replace(key, masked);
      while (read !== expected) {
        await end.until(({ bytes }) => bytes.length > given);
        const { bytes } = end;
        await new Promise((resolve) => decoder.write(bytes.subarray(given), resolve));
        given = bytes.length;
      }
    }
    writer.fail(new Error('enough'));
  });

  test('the few bytes that wait for a credential are passed on after a silence', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    writer.write(gzipSync('a monk'));
    const decoder = createGunzip();
    let read = '';
    decoder.on('data', (piece: Buffer) => {
      read += piece.toString();
    });
    for (let given = 0; read !== 'a monk'; ) {
      await end.until(({ bytes }) => bytes.length > given);
      const { bytes } = end;
      await new Promise((resolve) => decoder.write(bytes.subarray(given), resolve));
      given = bytes.length;
    }
    expect(end.over).toBe('no');
    writer.fail(new Error('enough'));
  });

  test('several members of gzip are one content, and padding behind them is dropped', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    const members = [key.slice(0, 5), key.slice(5), ' end'].map((part) => gzipSync(part));
    await pour(writer, Buffer.concat([...members, Buffer.alloc(20)]), [30, 1, 1, 1, 40]);
    await pour(writer, Buffer.alloc(5));
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect(gunzipSync(end.bytes).toString()).toBe(`${masked} end`);
  });

  test('an answer that announces a coding and has no content is an empty one', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect([end.over, gunzipSync(end.bytes).length]).toEqual(['whole', 0]);
  });

  test.each([
    ['cut off', gzipSync('whole').subarray(0, 12)],
    ['cut off by its last byte', gzipSync('whole').subarray(0, -1)],
    ['no gzip at all', Buffer.from('plain words, more than two')],
    ['with another ending', Buffer.concat([gzipSync('whole'), Buffer.from('and more')])],
    ['damaged', Buffer.from(gzipSync('whole'.repeat(50)).map((byte, at) => (at === 20 ? byte ^ 0xff : byte)))],
  ])('one that does not decode never looks whole: %s', async (_what, bytes) => {
    const end = new ClientEnd('payload');
    const flow = scrubbedFlow(end, { outgoing: asksForAll });
    const writer = flow.wrapped.respond(head({ kind: 'until-close' }, [['Content-Encoding', 'gzip']]));
    await pour(writer, bytes);
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect(end.over).toBe('failed');
    const relayed = Promise.resolve(flow as unknown as Forwarded);
    await expect(untilPassedOn(flow, relayed)).rejects.toMatchObject({ code: 'upstream.protocol' });
    // The client that we cut off is not one that went away.
    await expect(untilPassedOn(flow, Promise.reject(new ClientGone()))).rejects.toMatchObject({
      code: 'upstream.protocol',
    });
  });

  test('a bomb goes off at the pace of the client', async () => {
    const end = new ClientEnd('payload');
    const scrub = { fed: 0 };
    const writer = scrubbed(end, {
      outgoing: asksForAll,
      scrub: {
        replaced: 0,
        text: (text) => text,
        fields: () => {},
        openBody: () => ({
          waiting: 0,
          feed: (chunk) => {
            scrub.fed += chunk.length;
            // What does not compress again, so that the client is the brake.
            return Buffer.from(chunk.map(() => Math.random() * 256));
          },
          end: () => Buffer.alloc(0),
          release: () => Buffer.alloc(0),
        }),
      },
    }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    const bombBytes = 6 * 1024 * 1024;
    end.hasRoom = false;
    writer.write(gzipSync(Buffer.alloc(bombBytes)));
    writer.end(null);
    await eventually(() => scrub.fed > 0, 'it is being unfolded');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(scrub.fed).toBeLessThan(1024 * 1024);
    end.makeRoom();
    await end.until(({ over }) => over !== 'no');
    expect([end.over, scrub.fed]).toEqual(['whole', bombBytes]);
  });

  test('who asks when all of it was passed on is told when it was, and that the client went', async () => {
    const end = new ClientEnd('payload');
    const flow = scrubbedFlow(end, { outgoing: asksForAll });
    const relayed = Promise.resolve({ ...flow, status: 200 } as unknown as Forwarded);
    expect(await untilPassedOn(flow, relayed)).toMatchObject({ status: 200 });
    const writer = flow.wrapped.respond(head(chunked, [['Content-Encoding', 'br']]));
    const passedOn = untilPassedOn(flow, relayed);
    await pour(writer, brotliCompressSync(`${key} ${key}`));
    writer.end(null);
    await passedOn;
    expect([end.over, flow.outgoing.scrub?.replaced]).toEqual(['whole', 2]);
  });

  test.each([
    ['that was asked for', asksForAll],
    ['that was not', []],
  ])(
    'a client that goes when all has come, and not all has gone on, is noticed: a coding %s',
    async (_what, outgoing) => {
      const end = new ClientEnd('payload');
      const flow = scrubbedFlow(end, { outgoing });
      end.hasRoom = false;
      let told = false;
      end.onAbandoned = () => {
        told = true;
      };
      const writer = flow.wrapped.respond(head(chunked, [['Content-Encoding', 'br']]));
      await pour(writer, brotliCompressSync(`words ${key}`));
      writer.end(null);
      await end.until(({ bytes }) => bytes.length > 0);
      // All that was to be read has been.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const waiting = untilPassedOn(flow, Promise.resolve(flow as unknown as Forwarded));
      end.onAbandoned();
      await expect(waiting).rejects.toBeInstanceOf(ClientGone);
      expect(told).toBe(true);
    },
  );

  test('after its end it asks for no more: the connection may be in other hands', async () => {
    for (const bytes of [gzipSync(randomBytes(500_000)), gzipSync(randomBytes(500_000)).subarray(0, -9)]) {
      const end = new ClientEnd('payload');
      const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
      let asked = 0;
      writer.onDrain = () => {
        asked++;
      };
      expect(writer.write(bytes)).toBe(false);
      writer.end(null);
      await end.until(({ over }) => over !== 'no');
      expect(asked).toBe(0);
    }
  });
});

describe('the head of an answer that was compressed again', () => {
  const fields: [string, string][] = [
    ['Content-Encoding', 'gzip'],
    ['Content-Length', '300'],
    ['ETag', '"abc"'],
    ['Vary', 'Accept-Encoding'],
    ['Content-Digest', 'sha-256=:AA==:'],
    ['Repr-Digest', 'sha-256=:AA==:'],
    ['Digest', 'sha-256=AA=='],
    ['Content-MD5', 'AA=='],
    ['x-goog-hash', 'crc32c=AA=='],
    ['x-amz-checksum-crc32', 'AA=='],
    ['Accept-Ranges', 'bytes'],
    ['Content-Type', 'text/plain'],
  ];
  const kept = [
    ['Content-Encoding', 'gzip'],
    ['ETag', 'W/"abc"'],
    ['Vary', 'Accept-Encoding'],
    ['Content-Type', 'text/plain'],
  ];
  const pairs = ({ names, values }: HeaderList): string[][] => names.map((name, i) => [name, values[i]!]);

  test('says nothing of bytes that are others now, and the validator is weak', () => {
    const end = new ClientEnd('wire');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head({ kind: 'length', bytes: 300 }, fields));
    expect(end.head?.framing).toEqual(chunked);
    expect(pairs(end.head!.headers)).toEqual(kept);
    writer.fail(new Error('enough'));
  });

  test('to HEAD it says the same', () => {
    const end = new ClientEnd('wire');
    scrubbed(end, { outgoing: asksForAll }).respond(head({ kind: 'none' }, fields));
    expect(end.head?.framing).toEqual({ kind: 'none' });
    expect(pairs(end.head!.headers)).toEqual(kept);
  });

  test('trailers that cannot be passed on break it off, asked for or not, and throw at nobody', async () => {
    for (const outgoing of [asksForAll, []]) {
      const end = new ClientEnd('payload');
      end.end = () => {
        throw new Http1Error('malformed.framing', 'the field date may not come after the body');
      };
      const flow = scrubbedFlow(end, { outgoing });
      const writer = flow.wrapped.respond(head(chunked, [['Content-Encoding', 'gzip']]));
      await pour(writer, gzipSync('words'));
      writer.end(HeaderList.from([['date', 'now']]));
      await end.until(({ over }) => over !== 'no');
      expect(end.over).toBe('failed');
      await expect(untilPassedOn(flow, Promise.resolve(flow as unknown as Forwarded))).rejects.toMatchObject({
        code: 'upstream.protocol',
        message: expect.stringContaining('fields that cannot be passed on'),
      });
    }
  });

  test('a digest does not come behind it either', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    await pour(writer, gzipSync('words'));
    writer.end(
      HeaderList.from([
        ['Content-Digest', 'sha-256=:AA==:'],
        ['X-Echo', key],
      ]),
    );
    await end.until(({ over }) => over !== 'no');
    expect(pairs(end.trailers!)).toEqual([['X-Echo', masked]]);
  });

  test('a 304 speaks of the validator that the client knows', () => {
    for (const [sent, known] of [
      ['"abc"', '"abc"'],
      ['"x", W/"abc"', 'W/"abc"'],
    ] as const) {
      const end = new ClientEnd('wire');
      const asked = { outgoing: asksForAll, request: [['If-None-Match', sent]] as [string, string][] };
      scrubbed(end, asked).respond(head({ kind: 'none' }, [['ETag', '"abc"']], 304));
      expect(end.head?.headers.get('etag')).toBe(known);
    }
  });
});

describe('a compressed answer that the client did not ask for may be a file, whose very bytes count', () => {
  const archive = gzipSync(`an archive ${'of words '.repeat(2000)}`, { level: 9 });

  test.each([
    ['nothing was asked for', undefined],
    ['plain was asked for', 'identity'],
    ['another coding was', 'br'],
    ['it was refused', 'gzip;q=0, br'],
  ])('it is passed on as it came, head and all: %s', async (_what, accepts) => {
    for (const form of ['wire', 'payload'] as const) {
      const end = new ClientEnd(form);
      const fields: [string, string][] = [
        ['Content-Encoding', 'gzip'],
        ['Content-Length', String(archive.length)],
        ['ETag', '"abc"'],
        ['Content-MD5', 'AA=='],
      ];
      const outgoing: [string, string][] = accepts === undefined ? [] : [['Accept-Encoding', accepts]];
      const writer = scrubbed(end, { outgoing }).respond(head({ kind: 'length', bytes: archive.length }, fields));
      await pour(writer, archive, [1, 1, 1, 10, 3]);
      writer.end(null);
      await end.until(({ over }) => over !== 'no');
      expect(end.over).toBe('whole');
      expect(end.bytes.equals(archive)).toBe(true);
      expect(end.head?.headers.names).toEqual(fields.map(([name]) => name));
      expect(end.head?.framing).toEqual({ kind: 'length', bytes: archive.length });
    }
  });

  test('one with a credential in it is compressed anew, masked', async () => {
    for (const { name, code, decode } of codings) {
      const [lead, tail] = ['words '.repeat(50), ' words'.repeat(3000)];
      const body = code(Buffer.from(`${lead}${key}${tail}`));
      for (const size of [1, 7, 50, body.length]) {
        const end = new ClientEnd('payload');
        const flow = scrubbedFlow(end);
        const writer = flow.wrapped.respond(head({ kind: 'length', bytes: body.length }, [['Content-Encoding', name]]));
        const passedOn = untilPassedOn(flow, Promise.resolve(flow as unknown as Forwarded));
        await pour(
          writer,
          body,
          Array.from({ length: Math.ceil(body.length / size) }, () => size),
        );
        writer.end(null);
        await passedOn;
        expect([end.over, end.head?.framing]).toEqual(['whole', chunked]);
        expect(decode(end.bytes).toString()).toBe(`${lead}${masked}${tail}`);
        expect(flow.outgoing.scrub?.replaced).toBe(1);
      }
    }
  });

  test('where its beginning has gone out it is cut off before the credential', async () => {
    const noise = randomBytes(100_000);
    for (const [name, code] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
      ['deflate', deflateRawSync],
    ] as const) {
      const body = code(Buffer.concat([noise, Buffer.from(key), noise]));
      for (const size of [500, 9000]) {
        const end = new ClientEnd('payload');
        const flow = scrubbedFlow(end);
        const writer = flow.wrapped.respond(head(chunked, [['Content-Encoding', name]]));
        await pour(
          writer,
          body,
          Array.from({ length: Math.ceil(body.length / size) }, () => size),
        );
        writer.end(null);
        await end.until(({ over }) => over !== 'no');
        expect(end.over).toBe('failed');
        const seen = readable(name, end.bytes);
        expect(seen.length).toBeGreaterThan(0);
        expect(seen).not.toContain(key.slice(0, 6));
        const passedOn = untilPassedOn(flow, Promise.resolve(flow as unknown as Forwarded));
        await expect(passedOn).rejects.toMatchObject({ code: 'upstream.protocol' });
      }
    }
  });

  test('not even the beginning of a credential goes out, when the rest of it has not come', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    const content = Buffer.concat([Buffer.alloc(100_000, 'words '), Buffer.from(key), randomBytes(500)]);
    const body = gzipSync(content, { level: 0 });
    const at = body.indexOf(key);
    expect(at).toBeGreaterThan(0);
    await pour(writer, body.subarray(0, at + 9), [at - 10]);
    await end.until(({ bytes }) => bytes.length >= at - 10);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(end.bytes.length).toBe(at - 10);
    await pour(writer, body.subarray(at + 9));
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect([end.over, end.bytes.length]).toEqual(['failed', at - 10]);
  });

  test('a client that waits for its beginning does not wait long', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end).respond(head(chunked, [['Content-Encoding', 'gzip']]));
    const part = archive.subarray(0, 60);
    writer.write(part);
    await end.until(({ bytes }) => bytes.length > 0);
    expect(end.bytes.equals(part)).toBe(true);
    writer.fail(new Error('enough'));
  });

  test('one that cannot be decompressed is refused in words, as long as nothing has gone out', async () => {
    const end = new ClientEnd('payload');
    const flow = scrubbedFlow(end);
    const writer = flow.wrapped.respond(head(chunked, [['Content-Encoding', 'gzip']]));
    await pour(writer, Buffer.from('plain words'));
    writer.end(null);
    const passedOn = untilPassedOn(flow, Promise.resolve(flow as unknown as Forwarded));
    await expect(passedOn).rejects.toMatchObject({ code: 'upstream.protocol' });
    expect(end.answered).toBe(false);
  });

  test('its trailers are searched, whether or not it is passed on as it came', async () => {
    for (const content of ['words', `words ${key}`]) {
      const end = new ClientEnd('payload');
      const writer = scrubbed(end).respond(head(chunked, [['Content-Encoding', 'gzip']]));
      await pour(writer, gzipSync(content));
      writer.end(HeaderList.from([['x-note', key]]));
      await end.until(({ over }) => over !== 'no');
      expect([end.over, end.trailers?.values]).toEqual(['whole', [masked]]);
    }
  });

  test('nothing hides behind its end', async () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end).respond(head(chunked, [['Content-Encoding', 'br']]));
    await pour(writer, brotliCompressSync('words'));
    await end.until(({ bytes }) => bytes.length > 0);
    await pour(writer, Buffer.from(key));
    writer.end(null);
    await end.until(({ over }) => over !== 'no');
    expect([end.over, end.text.includes(key)]).toEqual(['failed', false]);
  });

  test('a part of a compressed body is searched as it is', () => {
    const end = new ClientEnd('payload');
    const fields: [string, string][] = [['Content-Encoding', 'gzip']];
    const writer = scrubbed(end, { outgoing: asksForAll }).respond(head({ kind: 'until-close' }, fields, 206));
    writer.write(Buffer.from(`.${key}.`));
    writer.end(null);
    expect([end.text, end.over]).toEqual([`.${masked}.`, 'whole']);
  });
});

/** As much as anybody could read of coded bytes that were cut off. */
function readable(coding: string, bytes: Buffer): string {
  if (bytes.length === 0) return '';
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = constants;
  try {
    if (coding === 'br') return brotliDecompressSync(bytes, { finishFlush: BROTLI_OPERATION_FLUSH }).toString();
    if (coding === 'gzip') return gunzipSync(bytes, { finishFlush: Z_SYNC_FLUSH }).toString();
    const isZlib = (bytes[0]! & 15) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0;
    return (isZlib ? inflateSync : inflateRawSync)(bytes, { finishFlush: Z_SYNC_FLUSH }).toString();
  } catch {
    return '';
  }
}
