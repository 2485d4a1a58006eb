// A message means the same however the network cuts it: whole, byte by byte, or anywhere. The streams are those of the
// differential test, damaged ones included, so refusals must not depend on the cuts either.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cut, randomFrom, requestStream, responseStream } from './http1-corpus.ts';
import { type Reading, readOurRequests, readOurResponses } from './http1-our-reading.ts';

const RUNS = 1500;
const seeds = fc.tuple(fc.integer(), fc.integer());
const settings = { seed: 20260727, numRuns: RUNS };

const byteByByte = (stream: Buffer): Buffer[] => Array.from(stream, (_, i) => stream.subarray(i, i + 1));

/** On the wire form a body that is refused half-way may have been passed on up to any earlier cut. */
function settled(reading: Reading): unknown {
  return { ...reading, messages: reading.messages.filter((message) => message.complete) };
}

describe('any cut of a stream gives the same reading', () => {
  console.log(`any split: seed ${settings.seed}, ${RUNS} streams for each test`);

  test('of requests', () => {
    fc.assert(
      fc.property(seeds, ([streamSeed, cutSeed]) => {
        const stream = requestStream(randomFrom(streamSeed));
        const parts = cut(randomFrom(cutSeed), stream);
        const whole = readOurRequests([stream]);
        expect(readOurRequests(parts)).toEqual(whole);
        expect(readOurRequests(byteByByte(stream))).toEqual(whole);
      }),
      settings,
    );
  });

  test('of answers', () => {
    fc.assert(
      fc.property(seeds, ([streamSeed, cutSeed]) => {
        const stream = responseStream(randomFrom(streamSeed));
        const parts = cut(randomFrom(cutSeed), stream);
        const whole = readOurResponses([stream], 'GET');
        expect(readOurResponses(parts, 'GET')).toEqual(whole);
        expect(readOurResponses(byteByByte(stream), 'GET')).toEqual(whole);
      }),
      settings,
    );
  });

  test('of bodies that are relayed as they came', () => {
    fc.assert(
      fc.property(seeds, ([streamSeed, cutSeed]) => {
        const stream = requestStream(randomFrom(streamSeed));
        const whole = readOurRequests([stream], true);
        expect(settled(readOurRequests(cut(randomFrom(cutSeed), stream), true))).toEqual(settled(whole));
        for (const message of whole.messages.filter((message) => message.complete)) {
          expect(stream.toString('latin1')).toContain(message.body);
        }
      }),
      settings,
    );
  });
});
