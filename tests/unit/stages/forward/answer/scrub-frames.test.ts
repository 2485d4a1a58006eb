import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../../src/path/secret.ts';
import { UnreadableFrame } from '../../../../../src/protocols/websocket/websocket-frames.ts';
import { FrameScrub } from '../../../../../src/stages/forward/answer/scrub-frames.ts';
import { scrubFor } from '../../../../../src/stages/inject/scrub/secret-scrub.ts';

const key = 'key-0123456789';
const masked = '*'.repeat(key.length);

function frame(first: number, content: string): Buffer {
  const body = Buffer.from(content, 'latin1');
  const { length } = body;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), body]);
  if (length < 65_536) return Buffer.concat([Buffer.from([first, 126, length >> 8, length & 0xff]), body]);
  const head = Buffer.alloc(10);
  head[0] = first;
  head[1] = 127;
  head.writeUInt32BE(length, 6);
  return Buffer.concat([head, body]);
}

function scrubber(): FrameScrub {
  return new FrameScrub(scrubFor(new Secret('key', key))!);
}

function pass(bytes: Buffer, pieces: readonly number[] = []): Buffer {
  const frames = scrubber();
  const out: Buffer[] = [];
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    out.push(frames.feed(bytes.subarray(at, at + size)));
    at = Math.min(bytes.length, at + size);
  }
  return Buffer.concat(out);
}

test('a message that comes in one piece goes on in one, head and content together', () => {
  const message = frame(0x81, 'a token of a model');
  expect(scrubber().feed(message)).toEqual(message);
  expect(scrubber().feed(frame(0x81, `the key is ${key}`))).toEqual(frame(0x81, `the key is ${masked}`));
});

describe('a credential in the messages of a WebSocket is replaced', () => {
  test('across any frames, with pings between them, in any pieces, and frames stay as they were', () => {
    const text = fc.string({ unit: fc.constantFrom('x', ' ', '\n', 'k', 'e'), maxLength: 200 });
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 5 });
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 40 });
    fc.assert(
      fc.property(text, text, cuts, sizes, fc.boolean(), (lead, tail, at, pieces, pings) => {
        const build = (message: string): Buffer => {
          const places = [0, ...at.filter((place) => place < message.length).sort((a, b) => a - b), message.length];
          const frames = places.slice(1).map((end, i) => {
            const first = (i === 0 ? 0x01 : 0x00) | (i === places.length - 2 ? 0x80 : 0);
            return Buffer.concat([
              frame(first, message.slice(places[i], end)),
              ...(pings ? [frame(0x89, 'ping')] : []),
            ]);
          });
          return Buffer.concat([...frames, frame(0x82, 'next')]);
        };
        const out = pass(build(`${lead}${key}${tail}`), pieces);
        expect(out.toString('latin1')).toBe(build(`${lead}${masked}${tail}`).toString('latin1'));
      }),
      { numRuns: 300 },
    );
  });

  test('in a control frame, and in frames of every length', () => {
    expect(pass(frame(0x88, `\x03\xe8${key}`)).equals(frame(0x88, `\x03\xe8${masked}`))).toBe(true);
    for (const filler of [0, 111, 112, 125, 126, 65_600]) {
      const bytes = frame(0x81, 'x'.repeat(filler) + key);
      expect(pass(bytes, [1, 1, 1]).equals(frame(0x81, 'x'.repeat(filler) + masked))).toBe(true);
    }
  });

  test('a message that ends like the beginning of it is not held back', () => {
    expect(pass(frame(0x81, 'the key')).equals(frame(0x81, 'the key'))).toBe(true);
    expect(pass(Buffer.concat([frame(0x01, 'the ke'), frame(0x80, '')])).length).toBe(10);
  });

  test.each([
    ['compressed', Buffer.from([0xc1, 0])],
    ['masked', Buffer.from([0x81, 0x80])],
    ['a control frame too long', Buffer.from([0x89, 126, 0, 126])],
  ])('what cannot be read is not passed on: %s', (_what, bytes) => {
    const frames = scrubber();
    // A message before it, in the same piece, is not lost with it.
    const before = frame(0x81, 'before');
    expect(frames.feed(Buffer.concat([before, bytes, frame(0x81, 'behind')]))).toEqual(before);
    expect(frames.fault).toBeInstanceOf(UnreadableFrame);
    expect(frames.feed(frame(0x81, 'later')).length).toBe(0);
  });

  test('between frames of a message what waited is given out, inside a frame nothing may follow', () => {
    const between = scrubber();
    const first = frame(0x01, key.slice(0, 8));
    expect(between.feed(first).length).toBeLessThan(first.length);
    expect(between.cut()?.toString('latin1')).toBe(key.slice(0, 8));
    const inside = scrubber();
    inside.feed(frame(0x81, 'half of it').subarray(0, 6));
    expect(inside.cut()).toBeNull();
  });
});
