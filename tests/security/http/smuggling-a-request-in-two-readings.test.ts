// The corpus of requests over HTTP/1.1, against a far side that keeps every byte, in one go and in small pieces, and
// against Node's own server with its lenient parser.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RequestCase, wordsFor } from '../../support/smuggling-case.ts';
import { framingCases } from '../../support/smuggling-framing-cases.ts';
import { lenientHost, nodeHost, openSmugglingGround, type SmugglingGround } from '../../support/smuggling-ground.ts';
import { headCases } from '../../support/smuggling-head-cases.ts';

const corpusFor = (host: string): RequestCase[] => {
  const words = wordsFor(host);
  return [...framingCases(words), ...headCases(words)];
};
const arrivals = { refused: 0, unfinished: 0, one: 1, two: 2 };

let ground: SmugglingGround;

beforeAll(async () => {
  ground = await openSmugglingGround();
});

afterAll(() => ground.stop());

async function prove(host: string, { bytes, verdict, body, target }: RequestCase, pieceBytes?: number): Promise<void> {
  const waits = verdict === 'unfinished';
  const seen = await ground.send(host, bytes, { waits, ...(pieceBytes === undefined ? {} : { pieceBytes }) });
  expect(seen.mixedUp).toEqual([]);
  expect(seen.arrived.length, `${verdict}: ${JSON.stringify(seen)}`).toBe(arrivals[verdict]);
  // For what it says: not for how many came before it, nor by a fault of ours.
  if (verdict === 'refused') expect([400, 403, 413, 414, 431]).toContain(seen.statuses[0]);
  if (verdict === 'one' || verdict === 'two') {
    expect(seen.statuses[0]).toBe(200);
    expect(seen.arrived[0]!.split(' ')[1]).toBe(target ?? '/front');
    if (host === lenientHost && body !== undefined) expect(seen.bodies[0]).toBe(body);
  }
  if (verdict === 'two') expect(seen.arrived[1]).toBe('GET /second');
  // Half a head or half a body may have left before the rest was seen; it must not be a request to any reader.
  if (verdict !== 'unfinished' && pieceBytes === undefined) expect(seen.faults).toEqual([]);
}

const corpus = corpusFor(lenientHost);

describe(`a request is one request to the far side, or none: ${corpus.length} cases`, () => {
  test('the corpus is as large as it says, and no case is there twice', () => {
    expect(corpus.length).toBeGreaterThanOrEqual(150);
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(new Set(corpus.map(({ bytes }) => bytes)).size).toBe(corpus.length);
    console.info(`smuggling: ${corpus.length} requests over HTTP/1.1, three ways each`);
  });

  test.each(corpus)('$name', (one) => prove(lenientHost, one));
});

describe('the same when it comes in small pieces', () => {
  test.each(corpus.filter(({ bytes }) => bytes.length < 2_000))('$name', (one) => prove(lenientHost, one, 9));
});

describe("the same in the eyes of Node's lenient parser", () => {
  test.each(corpusFor(nodeHost))('$name', (one) => prove(nodeHost, one));
});
