// The corpus of requests over HTTP/2 to a far side that speaks only HTTP/1.1, against both witnesses.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { lenientHost, nodeHost, openSmugglingGround, type SmugglingGround } from '../../support/smuggling-ground.ts';
import { http2Cases, type StreamCase } from '../../support/smuggling-h2-cases.ts';
import { answerTo } from '../../support/smuggling-witness.ts';
import { openTls } from '../../support/tunnel-client.ts';

let ground: SmugglingGround;

beforeAll(async () => {
  ground = await openSmugglingGround();
});

afterAll(() => ground.stop());

const arrivals = { refused: [0], unfinished: [0], one: [1], two: [2] };

async function prove(host: string, { frames, verdict, body }: StreamCase): Promise<void> {
  const seen = await ground.watch(host, async (n) => {
    const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
    const peer = new FramePeer(await openTls(ground.gateway, `${host}:443`, options), false);
    peer.send(...frames, headersFrame(3, requestFields(host, 'GET', `/marker-${n}`), endStream));
    const isOver = (stream: number): boolean => {
      const { answered, reset, goaway } = peer.outcome(stream);
      return answered || reset !== null || goaway || peer.closed;
    };
    await eventually(() => (isOver(1) || verdict === 'unfinished') && isOver(3), 'both streams end');
    const marker = textOf(peer, 3);
    const mixedUp = marker === '' || marker === answerTo(`/marker-${n}`) ? [] : [`the marker got ${marker}`];
    const own = textOf(peer, 1);
    if (own.startsWith('this answers') && own !== answerTo('/front')) mixedUp.push(`the case got ${own}`);
    peer.socket.destroy();
    return { statuses: [], mixedUp };
  });
  expect(seen.mixedUp).toEqual([]);
  expect(arrivals[verdict], `${verdict}: ${JSON.stringify(seen)}`).toContain(seen.arrived.length);
  if (seen.arrived.length > 0) expect(seen.arrived[0]!.split(' ')[1]).toBe('/front');
  if (host === lenientHost && body !== undefined) expect(seen.bodies[0]).toBe(body);
  if (verdict !== 'unfinished') expect(seen.faults).toEqual([]);
}

/** What came as data so far; an answer of one line comes in one frame with its head. */
function textOf(peer: FramePeer, stream: number): string {
  const parts = peer.frames
    .filter((frame) => frame.stream === stream && frame.type === 0)
    .map(({ payload }) => payload);
  return Buffer.concat(parts).toString('latin1');
}

const corpus = http2Cases(lenientHost);

describe(`a stream is one request to the far side, or none: ${corpus.length} cases`, () => {
  test('no case is there twice', () => {
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(new Set(corpus.map(({ frames }) => Buffer.concat([...frames]).toString('hex'))).size).toBe(corpus.length);
    console.info(`smuggling: ${corpus.length} requests over HTTP/2, two ways each`);
  });

  test.each(corpus)('$name', (one) => prove(lenientHost, one));
});

describe("the same in the eyes of Node's lenient parser", () => {
  test.each(http2Cases(nodeHost))('$name', (one) => prove(nodeHost, one));
});
