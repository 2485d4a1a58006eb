// Damaged and random bytes for every parser of the wire: no crash, no hang, no error but a GitWireError, and the same
// outcome however the stream is cut. Fixed counts; everything follows from the seed that is printed.
import { describe, expect, test } from 'vitest';
import { AdvertisementReader } from '../../src/protocols/git/advertisement.ts';
import { parseLsRefs } from '../../src/protocols/git/fetch-v2.ts';
import { FetchAnswerReader } from '../../src/protocols/git/fetch-v2-answer.ts';
import { GitWireError } from '../../src/protocols/git/git-wire-error.ts';
import { delimPkt, encodePkt, flushPkt, PktReader } from '../../src/protocols/git/pkt-line.ts';
import { ReceivePackRequestReader } from '../../src/protocols/git/receive-pack-request.ts';
import { AdvertisementRewriter, pushAdvertisementChange } from '../../src/protocols/git/rewrite-advertisement.ts';
import { damage, pushStream } from './git-wire-corpus.ts';
import { cut, type Random, randomFrom } from './http1-corpus.ts';

const seed = Number(process.env.GIT_WIRE_SEED ?? 20260801);
const RUNS = 4000;
const A = 'a'.repeat(40);

const advertisement = Buffer.concat([
  encodePkt('# service=git-receive-pack\n'),
  flushPkt,
  encodePkt('version 1\n'),
  encodePkt(`${A} refs/heads/a\0report-status push-cert=x agent=y\n`),
  encodePkt(`${A} refs/tags/v^{}\n`),
  encodePkt(`${A} .have\n`),
  encodePkt(`shallow ${A}\n`),
  flushPkt,
]);
const answer = Buffer.concat([
  encodePkt('acknowledgments\n'),
  encodePkt(`ACK ${A}\n`),
  encodePkt('ready\n'),
  delimPkt,
  encodePkt('shallow-info\n'),
  encodePkt(`shallow ${A}\n`),
  delimPkt,
  encodePkt('packfile\n'),
  encodePkt('\x01PACK'),
  encodePkt('\x02text'),
  flushPkt,
]);
const lsRefs = Buffer.concat([
  encodePkt(`${A} HEAD symref-target:refs/heads/a\n`),
  encodePkt(`${A} refs/tags/v peeled:${A}\n`),
  flushPkt,
]);

/** Each reads a stream in parts and returns what it read. */
const parsers: Record<string, { make: (random: Random) => Buffer; read: (parts: Buffer[]) => unknown }> = {
  'pkt-lines': {
    make: (random) => pushStream(random, A),
    read: (parts) => {
      const reader = new PktReader('v2');
      return [parts.flatMap((part) => reader.feed(part)), reader.rest()];
    },
  },
  'the commands of a push': {
    make: (random) => pushStream(random, A),
    read: (parts) => {
      const reader = new ReceivePackRequestReader();
      const at = parts.findIndex((part) => reader.feed(part));
      const { rest, capabilities, ...others } = reader.result;
      if (!others.packFollows) for (const part of parts.slice(at + 1)) reader.feed(part);
      return { ...others, capabilities: [...capabilities], rest: Buffer.concat([rest, ...parts.slice(at + 1)]) };
    },
  },
  'an advertisement': {
    make: () => advertisement,
    read: (parts) => {
      const reader = new AdvertisementReader();
      for (const part of parts) reader.feed(part);
      return reader.end();
    },
  },
  'an advertisement that is rewritten': {
    make: () => advertisement,
    read: (parts) => {
      const rewriter = new AdvertisementRewriter(pushAdvertisementChange);
      const out = parts.flatMap((part) => rewriter.feed(part));
      rewriter.end();
      return Buffer.concat(out);
    },
  },
  'the answer to a fetch': {
    make: () => answer,
    read: (parts) => {
      const reader = new FetchAnswerReader();
      const pack = parts.flatMap((part) => reader.feed(part).pack);
      reader.end();
      return [Buffer.concat(pack), reader.acknowledged, reader.shallow];
    },
  },
  'a list of refs': { make: () => lsRefs, read: (parts) => parseLsRefs(Buffer.concat(parts)) },
};

/** What was read, or that it was refused: how a refusal is worded may depend on how much was there to see. */
function outcome(read: (parts: Buffer[]) => unknown, parts: Buffer[]): unknown {
  try {
    return read(parts);
  } catch (error) {
    if (error instanceof GitWireError) return 'refused';
    throw error;
  }
}

describe('no bytes bring a parser of the wire down', () => {
  console.log(`git wire fuzz: seed ${seed}, ${RUNS} streams for each parser`);

  test.each(Object.entries(parsers))('%s', (_, { make, read }) => {
    const random = randomFrom(seed);
    let refused = 0;
    for (let i = 0; i < RUNS; i++) {
      const stream = i % 10 === 0 ? make(random) : damage(random, make(random));
      const whole = outcome(read, [stream]);
      if (whole === 'refused') refused++;
      expect(outcome(read, cut(random, stream)), `stream ${i}`).toEqual(whole);
    }
    expect(refused).toBeGreaterThan(RUNS / 10);
    expect(refused).toBeLessThan(RUNS);
  });
});
