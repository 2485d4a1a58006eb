import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import {
  CollectingWriter,
  codeOf,
  cutAt,
  encodings,
  type GuardGround,
  githubPlaceholder,
  guardWith,
  HandExchange,
  realValue,
  requestTo,
} from '../scrub/outbound-ground.ts';

const text = 0x1;
const binary = 0x2;
const ping = 0x9;
const more = 0x0;
const final = 0x80;
const deflated = 0x40;

/** One frame as a client sends it. */
function frame(first: number, content: Buffer | string, mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d])): Buffer {
  const bytes = Buffer.from(content);
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([first, ...length]), mask, bytes.map((byte, i) => byte ^ mask[i % 4]!)]);
}

/** As permessage-deflate writes a message: without the tail. */
function folded(content: string | Buffer): Buffer {
  const bytes = deflateRawSync(content, { finishFlush: 2 });
  return bytes.subarray(0, -4);
}

const flowOf = (host = 'open.example') =>
  requestTo(host, { canonical: { kind: 'websocket', path: '/v1/live', method: 'GET' } });

async function send(
  { guard }: GuardGround,
  wire: Buffer,
  { places = [] as readonly number[], deflate = true, flow = flowOf() } = {},
): Promise<CollectingWriter> {
  const exchange = new HandExchange('wire', { kind: 'none' });
  const out = new CollectingWriter();
  const view = guard.guardBody(flow, exchange.asExchange);
  const agreed = deflate
    ? [['Sec-WebSocket-Extensions', 'permessage-deflate; client_no_context_takeover'] as const]
    : [];
  view.respond({ status: 101, reason: '', headers: HeaderList.from(agreed), framing: { kind: 'none' } });
  view.goRaw(out);
  for (const piece of cutAt(wire, places)) exchange.body!.write(piece);
  exchange.body!.end(null);
  await out.over;
  return out;
}

describe('messages of a client are searched on their way out', () => {
  test.each([
    ['in a message', frame(final | text, `a ${githubPlaceholder} b`)],
    ['in a binary message', frame(final | binary, `\x00\x01${githubPlaceholder}`)],
    [
      'across two frames with a ping between, each with a mask of its own',
      Buffer.concat([
        frame(text, githubPlaceholder.slice(0, 20)),
        frame(final | ping, 'hello'),
        frame(final | more, githubPlaceholder.slice(20), Buffer.from([1, 2, 3, 4])),
      ]),
    ],
    ['in a ping', frame(final | ping, githubPlaceholder)],
    ['in a message that is compressed', frame(final | deflated | text, folded(`a ${githubPlaceholder} b`))],
    [
      'in a compressed message in two frames',
      Buffer.concat([
        frame(deflated | text, folded(`a ${githubPlaceholder}`).subarray(0, 12)),
        frame(final | more, folded(`a ${githubPlaceholder}`).subarray(12)),
      ]),
    ],
    [
      'in the second of two compressed messages',
      Buffer.concat([
        frame(final | deflated | text, folded('nothing here')),
        frame(final | deflated | text, folded(githubPlaceholder)),
      ]),
    ],
  ])('%s', async (_where, wire) => {
    const flow = flowOf();
    const out = await send(guardWith(), wire, { flow });
    expect(codeOf(out.failure)).toBe('secret.placeholder-misplaced');
    expect(flow.incident).toBe('placeholder of github in a message');
    expect(out.bytes.length).toBeLessThan(wire.length);
  });

  test('in any form, in any pieces', async () => {
    const ground = guardWith();
    const planted = fc
      .tuple(fc.constantFrom(githubPlaceholder, realValue), fc.constantFrom(...encodings))
      .map(([value, [, encode]]) => encode(value));
    await fc.assert(
      fc.asyncProperty(
        planted,
        fc.boolean(),
        fc.boolean(),
        fc.array(fc.nat(), { maxLength: 10 }),
        async (value, holds, folds, places) => {
          const content = `[${holds ? value : value.slice(0, 12)}]`;
          const wire = folds ? frame(final | deflated | text, folded(content)) : frame(final | text, content);
          const out = await send(ground, wire, { places });
          expect(codeOf(out.failure)?.slice(0, 7)).toBe(holds ? 'secret.' : undefined);
          if (!holds) expect(out.bytes.equals(wire)).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('two messages are not read as one', async () => {
    const wire = Buffer.concat([
      frame(final | text, githubPlaceholder.slice(0, 20)),
      frame(final | text, githubPlaceholder.slice(20)),
    ]);
    const out = await send(guardWith(), wire);
    expect(out.failure).toBeNull();
    expect(out.bytes.equals(wire)).toBe(true);
  });

  test.each([
    ['compressed without having been agreed on', frame(final | deflated | text, folded('a')), false],
    ['compressed into nonsense', frame(final | deflated | text, Buffer.alloc(20, 0xff)), true],
    ['without a mask', Buffer.from([0x81, 1, 0x61]), true],
  ])('%s: the connection ends', async (_what, wire, deflate) => {
    const out = await send(guardWith(), wire, { deflate });
    expect(codeOf(out.failure)).toBe('malformed.framing');
  });

  test('to its model an agent may say a placeholder, which the operator hears of at once, and once; no real value', async () => {
    const ground = guardWith();
    const said = frame(final | text, `I have read ${githubPlaceholder}`);
    const flow = flowOf('model.example');
    const out = await send(ground, Buffer.concat([said, said]), { flow });
    expect(out.failure).toBeNull();
    expect(flow.incident).toBe('placeholder of github in a message');
    expect(ground.reports).toEqual(['incident']);
    const real = await send(ground, frame(final | text, realValue), { flow: flowOf('model.example') });
    expect(codeOf(real.failure)).toBe('secret.value-outbound');
  });
});
