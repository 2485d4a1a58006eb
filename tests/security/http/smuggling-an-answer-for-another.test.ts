// The corpus of answers: what a hostile far side sends must reach its client as exactly one answer, or as none, over
// HTTP/1.1 and over HTTP/2, and must never be there for the next request, of this sandbox or of another.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { endStream, FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { type AnswerCase, answerCases } from '../../support/smuggling-answer-cases.ts';
import { lenientHost, openSmugglingGround, type SmugglingGround } from '../../support/smuggling-ground.ts';
import { disagreeing, lenientReaders, readStream } from '../../support/smuggling-readings.ts';
import { answerTo, type ScriptedAnswer } from '../../support/smuggling-witness.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const scripts = new Map<string, ScriptedAnswer>();
let ground: SmugglingGround;

beforeAll(async () => {
  ground = await openSmugglingGround((target) => scripts.get(target) ?? null);
});

afterAll(() => ground.stop());

/** The content of a message in its framing. */
function contentOf(body: string, isChunked: boolean): string {
  if (!isChunked) return body;
  let content = '';
  for (let at = 0; ; ) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, line), 16);
    if (!(size > 0)) return content;
    content += body.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}

async function proveOverHttp1({ bytes, method, closes, verdict, status, body }: AnswerCase): Promise<void> {
  let text = '';
  let n = 0;
  const seen = await ground.watch(lenientHost, async (number) => {
    n = number;
    scripts.set(`/case-${n}`, { bytes, closes });
    const wire = new Wire(await openTls(ground.gateway, `${lenientHost}:443`, { caPath: ground.gateway.caPath }));
    const field = `HTTP/1.1\r\nHost: ${lenientHost}\r\n`;
    wire.send(`${method} /case-${n} ${field}\r\nGET /marker-${n} ${field}Connection: close\r\n\r\n`);
    text = await wire.rest();
    return { statuses: [], mixedUp: [] };
  });
  expect(seen.mixedUp).toEqual([]);
  // One that closes a kept connection without a word is asked once more.
  expect([...new Set(seen.arrived)]).toEqual([`${method} /case-${n}`]);
  // A connection on which more came than one answer is never asked anything again.
  const carrier = seen.raw.find((raw) => raw.includes(` /case-${n} `))!;
  const isOutOfStep = bytes.endsWith('planted') && !body.endsWith('planted');
  if (isOutOfStep) expect(readStream(carrier, lenientReaders[0]!).messages.at(-1)!.start).toContain(` /case-${n} `);
  const asked = [method, 'GET'];
  const { messages, rest } = readStream(text, lenientReaders[0]!, asked);
  const finals = messages.filter(({ start }) => !/^HTTP\/1\.1 1/.test(start));
  const [answer, marker, ...more] = finals;
  expect(more).toEqual([]);
  if (marker !== undefined) expect(marker.body).toBe(answerTo(`/marker-${n}`));
  if (verdict === 'broken') {
    expect(finals, JSON.stringify(text)).toEqual([]);
    expect(text).not.toContain('planted');
    return;
  }
  expect(disagreeing(text, asked), JSON.stringify(text)).toEqual([]);
  expect(rest).toBe('');
  expect(answer!.start.split(' ')[1]).toBe(String(verdict === 'refused' ? 502 : status));
  if (verdict === 'refused') expect(text).not.toMatch(/planted|first/);
  else {
    const isChunked = answer!.fields.some(([name]) => name === 'transfer-encoding') && method !== 'HEAD';
    expect(contentOf(answer!.body, isChunked)).toBe(body);
  }
}

async function proveOverHttp2({ bytes, method, closes, verdict, body }: AnswerCase): Promise<void> {
  const seen = await ground.watch(lenientHost, async (n) => {
    scripts.set(`/case-${n}`, { bytes, closes });
    const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
    const peer = new FramePeer(await openTls(ground.gateway, `${lenientHost}:443`, options), false);
    const ask = (stream: number, how: string, path: string): Buffer =>
      headersFrame(stream, requestFields(lenientHost, how, path), endStream);
    peer.send(ask(1, method, `/case-${n}`), ask(3, 'GET', `/marker-${n}`));
    const framesOf = (stream: number) => peer.frames.filter((frame) => frame.stream === stream);
    const isWhole = (stream: number): boolean =>
      framesOf(stream).some(({ type, flags }) => type <= 1 && (flags & endStream) !== 0);
    const textOf = (stream: number): string =>
      Buffer.concat(framesOf(stream).flatMap(({ type, payload }) => (type === 0 ? [payload] : []))).toString('latin1');
    await eventually(
      () => [1, 3].every((stream) => isWhole(stream) || peer.outcome(stream).reset !== null),
      'both streams end',
    );
    peer.socket.destroy();
    const mixedUp = textOf(3) === answerTo(`/marker-${n}`) ? [] : [`the marker got ${textOf(3)}`];
    const text = textOf(1);
    if (verdict === 'passed' && !(isWhole(1) && text === body)) mixedUp.push(`the case got ${text}`);
    if (verdict === 'refused' && /planted|first/.test(text)) mixedUp.push(`the refused case got ${text}`);
    if (verdict === 'broken' && (peer.outcome(1).reset ?? 0) === 0 && !/"code"/.test(text)) {
      mixedUp.push(`the broken case looked whole: ${text}`);
    }
    return { statuses: [], mixedUp };
  });
  expect(seen.mixedUp).toEqual([]);
  expect(new Set(seen.arrived).size).toBe(1);
}

describe(`an answer is one answer to its own client, or none: ${answerCases.length} cases`, () => {
  test('the corpus is as large as it says, and no case is there twice', () => {
    expect(answerCases.length).toBeGreaterThanOrEqual(60);
    expect(new Set(answerCases.map(({ name }) => name)).size).toBe(answerCases.length);
    console.info(`smuggling: ${answerCases.length} answers, two ways each`);
  });

  test.each(answerCases)('$name', proveOverHttp1);
});

describe('the same to a client that speaks HTTP/2', () => {
  test.each(answerCases)('$name', proveOverHttp2);
});
