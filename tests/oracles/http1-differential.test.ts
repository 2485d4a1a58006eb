// Ours against Node's parser: whatever ours accepts, Node's must read the same way, message by message: start line,
// field list, body, trailers, and where the next message begins. Ours may refuse more. The corpus follows from the
// seed that is printed; HTTP1_SEED runs another one.
import { describe, expect, test } from 'vitest';
import { cut, type Random, randomFrom, requestStream, responseStream } from './http1-corpus.ts';
import { nodeMethods, readAsNode } from './http1-node-reading.ts';
import { type Reading, type ReadMessage, readOurRequests, readOurResponses } from './http1-our-reading.ts';

const seed = Number(process.env.HTTP1_SEED ?? 20260727);
const STREAMS = 30_000;

interface Tally {
  /** Messages that both read to the end. */
  same: number;
  /** Streams that ours refused at some point, and those of them that Node's did not. */
  refused: number;
  refusedByOursAlone: number;
  /** Streams with a method or a form of target that Node's parser does not know; which are served is not the codec's. */
  unknownToNode: number;
}

function unknownToNode(message: ReadMessage, node: Reading): boolean {
  if (node.refused === 'HPE_INVALID_METHOD') return !nodeMethods.has(message.start.split(' ')[0]!);
  return node.refused === 'HPE_INVALID_URL';
}

function compare(ours: Reading, node: Reading, tally: Tally): string | null {
  for (const [i, message] of ours.messages.entries()) {
    if (!message.complete) continue;
    const theirs = node.messages[i];
    if (theirs === undefined || !theirs.complete) {
      if (theirs === undefined && unknownToNode(message, node)) {
        tally.unknownToNode++;
        return null;
      }
      return `message ${i}: ours complete, Node's ${theirs === undefined ? 'not there' : 'unfinished'} (${node.refused})`;
    }
    tally.same++;
    if (theirs.start !== message.start) return `message ${i}: start`;
    if (theirs.fields.join('\n') !== message.fields.join('\n')) return `message ${i}: fields`;
    if (theirs.body !== message.body) return `message ${i}: body`;
    if (theirs.trailers.join('\n') !== message.trailers.join('\n')) return `message ${i}: trailers`;
    // Ours may close sooner; it must never go on where Node's would hang up.
    if (message.keepAlive && !theirs.keepAlive) return `message ${i}: keep-alive`;
  }
  if (ours.refused !== null) {
    tally.refused++;
    if (node.refused === null) tally.refusedByOursAlone++;
  } else if (!ours.ended && node.refused === null) {
    // Both wait for more: they must be waiting at the same place.
    const done = (reading: Reading): number => reading.messages.filter((message) => message.complete).length;
    if (done(ours) !== done(node)) return `ours waits after ${done(ours)} messages, Node's after ${done(node)}`;
  }
  return null;
}

function run(
  what: string,
  make: (random: Random) => Buffer,
  read: (parts: Buffer[], i: number) => [ours: Reading, node: Reading],
): { tally: Tally; differences: string[] } {
  const random = randomFrom(seed);
  const tally: Tally = { same: 0, refused: 0, refusedByOursAlone: 0, unknownToNode: 0 };
  const differences: string[] = [];
  for (let i = 0; i < STREAMS; i++) {
    const stream = make(random);
    const [ours, node] = read(cut(random, stream), i);
    const difference = compare(ours, node, tally);
    if (difference !== null) differences.push(`${difference}: ${JSON.stringify(stream.toString('latin1'))}`);
  }
  console.log(`${what}: seed ${seed}, ${STREAMS} streams, ${JSON.stringify(tally)}`);
  return { tally, differences };
}

describe("whatever ours accepts, Node's parser reads the same way", () => {
  test('requests', () => {
    const { tally, differences } = run('requests', requestStream, (parts) => [
      readOurRequests(parts),
      readAsNode(parts, null),
    ]);
    expect(differences).toEqual([]);
    expect(tally.same).toBeGreaterThan(STREAMS / 2);
    expect(tally.refused).toBeGreaterThan(STREAMS / 10);
  });

  test('answers', () => {
    const { tally, differences } = run('answers', responseStream, (parts, i) => {
      const method = i % 8 === 0 ? 'HEAD' : 'GET';
      return [readOurResponses(parts, method), readAsNode(parts, method)];
    });
    expect(differences).toEqual([]);
    expect(tally.same).toBeGreaterThan(STREAMS / 2);
    expect(tally.refused).toBeGreaterThan(STREAMS / 10);
  });
});
