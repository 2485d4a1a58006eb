// The HTTP/2 codec on damaged and invented frames: nothing is thrown, nothing hangs, it says and does the same however the
// bytes were cut on the way, what it writes are frames, and it keeps and writes no more than what came can ask for.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { preface } from '../../../src/protocols/http2/frame-format.ts';
import { errorCode } from '../../../src/protocols/http2/http2-fault.ts';
import { mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { frame, headersFrame, hpack, requestFields } from '../../support/raw-http2.ts';
import { http2Cases } from '../../support/smuggling-h2-cases.ts';
import { HandMadeServer } from '../../unit/protocols/http2/http2-peer.ts';

reportFuzz('HTTP/2 codec');

const host = 'a.example';
const next = headersFrame(99, requestFields(host, 'GET', '/next'), 1);
const recorded = http2Cases(host).map(({ frames }) => Buffer.concat([...frames, next]));
const hello = Buffer.concat([preface, frame(4, 0, 0, Buffer.alloc(0))]);
const answer = { names: ['x-a', 'content-type'], values: ['b', 'text/plain'] };

interface Outcome {
  readonly requests: unknown[];
  readonly malformed: string[];
  readonly fault: number | null;
  readonly written: unknown[];
}

/** Every second request is answered at once, with more than most windows take. */
function read(bytes: Buffer, pieceBytes: number): Outcome {
  const peer = new HandMadeServer(false);
  peer.onArrived = ({ stream }) => {
    if (stream.id % 4 !== 1) return;
    peer.server.sender.head(stream, 200, answer);
    peer.server.sender.content(stream, Buffer.alloc(500));
    peer.server.sender.end(stream, answer);
  };
  peer.feed(hello);
  for (let at = 0; at < bytes.length; at += pieceBytes) peer.feed(bytes.subarray(at, at + pieceBytes));
  const written = peer.take();
  expect(peer.fault?.code).not.toBe(errorCode.internal);
  // A reset of nine and four bytes for the head of a frame, or the answer above.
  expect(JSON.stringify(written).length).toBeLessThan(20_000 + 400 * bytes.length);
  expect(peer.server.openStreams).toBeLessThanOrEqual(128);
  const closed = peer.requests.map((arrived) => arrived.closed);
  // Its turn is not over before all inputs are tried, and until then it would be kept.
  peer.server.end();
  return {
    requests: peer.requests.map(({ request, content, trailers }, n) => [
      request,
      content.toString('latin1'),
      trailers,
      closed[n],
    ]),
    malformed: peer.malformed,
    fault: peer.fault?.code ?? null,
    written: written.map(([type, flags, stream, payload]) => [type, flags, stream, payload.toString('latin1')]),
  };
}

function isSameHoweverCut(bytes: Buffer, pieceBytes: number): Outcome {
  const whole = read(bytes, bytes.length || 1);
  const cut = read(bytes, pieceBytes);
  // Where the end of a stream leaves depends on what has left before; what was understood does not.
  expect({ ...cut, written: [] }).toEqual({ ...whole, written: [] });
  return whole;
}

const block = fc.oneof(
  fc.constant(hpack(requestFields(host, 'POST', '/'))),
  fc.constant(hpack([['x-sum', '1']])),
  fc.constant(Buffer.from('8286418aa0e41d139d09b8f01e07', 'hex')),
  fc.constant(Buffer.concat([hpack(requestFields(host, 'GET', '/')), Buffer.from('4001780179be', 'hex')])),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);
const word = fc.oneof(fc.constantFrom(0, 1, 100, 65_535, 0x7fffffff, 0x80000001), fc.nat()).map((value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
});
const stream = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(1, 3, 5, 7) }, { weight: 1, arbitrary: fc.nat(12) });
const flags = fc.constantFrom(0, 1, 4, 5, 8, 9, 0x2c, 0x25, 0xff);
const invented = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(stream, flags, block).map(([id, flag, bytes]) => frame(1, flag, id, bytes)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(stream, fc.constantFrom(0, 1), fc.uint8Array({ maxLength: 30 }))
      .map(([id, flag, bytes]) => frame(0, flag, id, Buffer.from(bytes))),
  },
  { weight: 2, arbitrary: fc.tuple(stream, word).map(([id, bytes]) => frame(8, 0, id, bytes)) },
  { weight: 2, arbitrary: fc.tuple(stream, word).map(([id, bytes]) => frame(3, 0, id, bytes)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(8), word)
      .map(([id, bytes]) => frame(4, 0, 0, Buffer.concat([Buffer.from([0, id]), bytes]))),
  },
  { weight: 1, arbitrary: fc.tuple(stream, flags, block).map(([id, flag, bytes]) => frame(9, flag, id, bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(12), flags, fc.nat(4), fc.uint8Array({ maxLength: 12 }))
      .map(([type, flag, id, bytes]) => frame(type, flag, id, Buffer.from(bytes))),
  },
);

describe('nothing that comes brings it down', { timeout: fuzzTimeoutMs }, () => {
  test('recorded frames, damaged', () => {
    let served = 0;
    fuzz(fc.tuple(mutated(recorded), fc.integer({ min: 1, max: 40 })), 8_000, ([bytes, pieceBytes]) => {
      served += isSameHoweverCut(bytes, pieceBytes).requests.length;
    });
    expect(served).toBeGreaterThan(100);
  });

  test('frames in no order', () => {
    let served = 0;
    fuzz(
      fc.tuple(fc.array(invented, { maxLength: 12 }), fc.integer({ min: 1, max: 40 })),
      12_000,
      ([frames, pieceBytes]) => {
        served += isSameHoweverCut(Buffer.concat(frames), pieceBytes).requests.length;
      },
    );
    expect(served).toBeGreaterThan(100);
  });
});
