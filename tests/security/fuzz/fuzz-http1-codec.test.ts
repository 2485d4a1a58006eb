// The HTTP/1.1 codec on damaged traffic: it refuses with an error of its own or reads what Node's strict parser reads, and
// the same however the bytes were cut on the way.
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { BodyReader } from '../../../src/protocols/http1/body-reader.ts';
import { Http1Error } from '../../../src/protocols/http1/http1-error.ts';
import { nodeMethods, readAsNode } from '../../oracles/http1-node-reading.ts';
import { type Reading, readOurRequests, readOurResponses } from '../../oracles/http1-our-reading.ts';
import { mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { answerCases } from '../../support/smuggling-answer-cases.ts';
import { wordsFor } from '../../support/smuggling-case.ts';
import { framingCases } from '../../support/smuggling-framing-cases.ts';
import { headCases } from '../../support/smuggling-head-cases.ts';

reportFuzz('HTTP/1.1 codec');

const words = wordsFor('api.example');
const recorded = [...framingCases(words), ...headCases(words)]
  .map(({ bytes }) => bytes)
  .filter((b) => b.length < 2_000);
const requests = recorded.map((bytes) => Buffer.from(`${bytes}${words.get()}`, 'latin1'));
const answers = answerCases
  .map(({ bytes }) => Buffer.from(bytes, 'latin1'))
  .filter(({ length }) => length > 0 && length < 2_000);
const pieces = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });

/** In pieces of these sizes, again and again. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const to = at + sizes[i % sizes.length]!;
    parts.push(bytes.subarray(at, to));
    at = to;
  }
  return parts;
}

/** Inputs of which at least one message was read to its end, in the test that runs. */
let read = 0;
beforeEach(() => {
  read = 0;
});

/** Every message that ours read to its end, as Node's parser must have read it. */
function expectSameReading(ours: Reading, node: Reading): void {
  if (ours.messages.some(({ complete }) => complete)) read++;
  for (const [i, { complete, start, fields, body, trailers, keepAlive }] of ours.messages.entries()) {
    if (!complete) continue;
    const theirs = node.messages[i];
    // A method or a form of target that Node does not know says nothing about where a message ends.
    const isForeign =
      node.refused === 'HPE_INVALID_METHOD'
        ? !nodeMethods.has(start.split(' ')[0]!)
        : node.refused === 'HPE_INVALID_URL';
    if (theirs === undefined && isForeign) return;
    // What follows a CONNECT is no message to Node.
    if (ours.messages[i - 1]?.start.startsWith('CONNECT ')) return;
    expect({ ...theirs, keepAlive }).toEqual({ complete, start, fields, body, trailers, keepAlive });
    expect(theirs!.keepAlive || !keepAlive).toBe(true);
  }
}

describe('damaged HTTP/1.1', () => {
  test('a request is refused, or read as a strict parser reads it', { timeout: fuzzTimeoutMs }, () => {
    fuzz(mutated(requests), 3_000, (bytes) => expectSameReading(readOurRequests([bytes]), readAsNode([bytes], null)));
    expect(read).toBeGreaterThan(100);
  });

  test('a request is read the same way however it is cut', { timeout: fuzzTimeoutMs }, () => {
    fuzz(fc.tuple(mutated(requests), pieces), 2_000, ([bytes, sizes]) => {
      const whole = readOurRequests([bytes]);
      const inParts = readOurRequests(cut(bytes, sizes));
      if (whole.messages.some(({ complete }) => complete)) read++;
      // What is said of a fault may depend on how much is there to see; where it is seen must not change what was read.
      expect(inParts.messages.filter(({ complete }) => complete)).toEqual(
        whole.messages.filter(({ complete }) => complete),
      );
      expect(inParts.refused === null).toBe(whole.refused === null);
    });
    expect(read).toBeGreaterThan(100);
  });

  test('an answer is refused, or read as a strict parser reads it', { timeout: fuzzTimeoutMs }, () => {
    fuzz(fc.tuple(mutated(answers), fc.constantFrom('GET', 'HEAD'), pieces), 3_000, ([bytes, method, sizes]) => {
      const parts = cut(bytes, sizes);
      const ours = readOurResponses(parts, method);
      expectSameReading(ours, readAsNode(parts, method));
      expect(readOurResponses([bytes], method).consumed).toBe(ours.consumed);
    });
    expect(read).toBeGreaterThan(100);
  });

  test('a body that the wire reader passes is passed by the other one, and ends in the same place', {
    timeout: fuzzTimeoutMs,
  }, () => {
    const bodies = [
      '0\r\n\r\n',
      '5\r\nhello\r\n0\r\n\r\n',
      '5;a="b;c"\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
      'a\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\nrest',
    ];
    fuzz(mutated(bodies.map((text) => Buffer.from(text))), 3_000, (bytes) => {
      const ends = (['feedWire', 'feedPayload'] as const).map((how) => {
        const reader = new BodyReader({ kind: 'chunked' });
        try {
          return reader[how](bytes, 0, () => {});
        } catch (error) {
          if (error instanceof Http1Error) return error.code;
          throw error;
        }
      });
      expect(ends[0]).toBe(ends[1]);
      if (typeof ends[0] === 'number') read++;
    });
    expect(read).toBeGreaterThan(100);
  });
});
