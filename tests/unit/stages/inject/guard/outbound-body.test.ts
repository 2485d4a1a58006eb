import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Framing } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { addWrapper, payloadExchange } from '../../../../../src/path/exchange/wrappers.ts';
import { Secret } from '../../../../../src/path/secret.ts';
import { encodeChunk, lastChunk } from '../../../../../src/protocols/http1/write-head.ts';
import {
  anthropicPlaceholder,
  CollectingWriter,
  codeOf,
  cutAt,
  encodings,
  githubPlaceholder,
  guardWith,
  HandExchange,
  realValue,
  requestTo,
  sendBody,
} from '../scrub/outbound-ground.ts';

const misplaced = 'secret.placeholder-misplaced';
const outbound = 'secret.value-outbound';
/** For the properties: a guard costs more than a body. */
const shared = guardWith();
const chunked: Framing = { kind: 'chunked' };
const cuts = fc.array(fc.nat(), { maxLength: 12 });
/** Text that holds beginnings of everything that is looked for, and whatever else. */
const around = fc
  .array(
    fc.oneof(
      fc.string(),
      fc.constantFrom('sallyport-', 'sallyport-placeholder-for-', 'Real-Va', '%73', '\\u0073', 'c2Fs'),
    ),
  )
  .map((parts) => parts.join(''));
const planted = fc
  .tuple(fc.constantFrom(githubPlaceholder, realValue), fc.constantFrom(...encodings))
  .map(([text, [, encode]]) => ({ text, encoded: encode(text) }));

/** In chunks of HTTP/1.1 of these sizes. */
function inChunks(pieces: readonly Buffer[], trailers: HeaderList | null = null): Buffer {
  const parts = pieces.filter((piece) => piece.length > 0).flatMap((piece) => encodeChunk(piece));
  return Buffer.concat([...parts, lastChunk(trailers)]);
}

describe('a body is searched on its way out', () => {
  test('in any form, at any place, in any pieces: it does not leave, and the body never looks whole', async () => {
    await fc.assert(
      fc.asyncProperty(around, planted, around, cuts, async (before, { encoded }, after, places) => {
        const body = Buffer.from(before + encoded + after);
        const out = await sendBody(shared, requestTo('open.example'), cutAt(body, places));
        expect(codeOf(out.failure)).toMatch(/^secret\./);
        expect(out.ended).toBeNull();
        expect(out.bytes.includes(encoded)).toBe(false);
        // What has gone is the body as far as it went.
        expect(body.subarray(0, out.bytes.length).equals(out.bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('what holds nothing goes on byte for byte, in any pieces', async () => {
    await fc.assert(
      fc.asyncProperty(around, cuts, async (text, places) => {
        const body = Buffer.from(text);
        const out = await sendBody(shared, requestTo('open.example'), cutAt(body, places));
        expect(out.failure).toBeNull();
        expect(out.bytes.equals(body)).toBe(true);
        expect(out.ended).not.toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  test('across chunks of HTTP/1.1, which go on as they came', async () => {
    await fc.assert(
      fc.asyncProperty(
        around,
        planted,
        fc.boolean(),
        cuts,
        cuts,
        async (before, { encoded }, holds, chunks, places) => {
          const content = Buffer.from(holds ? `${before}${encoded}.` : before);
          const wire = inChunks(cutAt(content, chunks));
          const exchange = new HandExchange('wire', chunked);
          const out = await sendBody(shared, requestTo('open.example'), cutAt(wire, places), exchange);
          if (holds) {
            expect(codeOf(out.failure)).toMatch(/^secret\./);
            expect(out.bytes.length).toBeLessThan(wire.length);
          } else {
            expect(out.failure).toBeNull();
            expect(out.bytes.equals(wire)).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('a placeholder goes to its own host, a real value does not', async () => {
    const ground = guardWith();
    const own = await sendBody(ground, requestTo('github.com'), [Buffer.from(`token=${githubPlaceholder}`)]);
    expect(own.bytes.toString()).toBe(`token=${githubPlaceholder}`);
    const real = await sendBody(ground, requestTo('github.com'), [Buffer.from(`token=${realValue}`)]);
    expect(codeOf(real.failure)).toBe(outbound);
  });

  test('in a chunk extension and in a trailer, in both forms of a body', async () => {
    const extension = Buffer.from(`3;n="${githubPlaceholder}"\r\nabc\r\n0\r\n\r\n`);
    const wire = new HandExchange('wire', chunked);
    const inExtension = await sendBody(guardWith(), requestTo('open.example'), cutAt(extension, [20]), wire);
    expect(codeOf(inExtension.failure)).toBe(misplaced);

    const trailers = HeaderList.from([['X-Sum', githubPlaceholder]]);
    const bytes = inChunks([Buffer.from('abc')], trailers);
    const pieces = cutAt(bytes, [bytes.length - 20]);
    const inBytes = await sendBody(guardWith(), requestTo('open.example'), pieces, new HandExchange('wire', chunked));
    expect(codeOf(inBytes.failure)).toBe(misplaced);

    const flow = requestTo('open.example');
    const inFields = await sendBody(guardWith(), flow, [Buffer.from('abc')], new HandExchange(), trailers);
    expect(codeOf(inFields.failure)).toBe(misplaced);
    expect(flow.incident).toBe('placeholder of github in the trailer x-sum');
    const named = HeaderList.from([[`X-${githubPlaceholder}`, '1']]);
    const inName = await sendBody(guardWith(), requestTo('open.example'), [], new HandExchange(), named);
    expect(codeOf(inName.failure)).toBe(misplaced);
  });

  test('a stage that asks for the content of a body with chunks gets it searched', async () => {
    const exchange = new HandExchange('wire', chunked);
    const payload = new HandExchange('payload', chunked);
    exchange.asPayload = () => payload.asExchange;
    const flow = { ...requestTo('open.example'), exchange: exchange.asExchange };
    addWrapper(flow, 'guarded', (inner) => guardWith().guard.guardBody(flow, inner));
    const view = payloadExchange(flow);
    expect(view.form).toBe('payload');
    const out = new CollectingWriter();
    view.sendBody(out);
    payload.body!.write(Buffer.from(githubPlaceholder));
    expect(codeOf(out.failure)).toBe(misplaced);
  });

  test('what comes after the limit passes', async () => {
    const ground = guardWith({ searchedBodyBytes: 1000 });
    const late = Buffer.from('x'.repeat(1000));
    const out = await sendBody(ground, requestTo('open.example'), [late, Buffer.from(githubPlaceholder)]);
    expect(out.failure).toBeNull();
    const early = Buffer.from('x'.repeat(990));
    const found = await sendBody(ground, requestTo('open.example'), [early, Buffer.from(githubPlaceholder)]);
    expect(codeOf(found.failure)).toBe(misplaced);
  });

  test('a value that becomes known while the body is under way', async () => {
    const ground = guardWith();
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    ground.guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.write(Buffer.from('beginning '));
    ground.known.note(new Secret('github', 'ghs_minted-just-now'));
    exchange.body!.write(Buffer.from('and ghs_minted-just-now'));
    expect(codeOf(out.failure)).toBe(outbound);
  });
});

describe('a coded body is searched for what is in it', () => {
  const coded = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ] as const;

  test.each(coded)('%s, in any pieces', async (coding, encode) => {
    await fc.assert(
      fc.asyncProperty(around, planted, fc.boolean(), cuts, async (before, { encoded }, holds, places) => {
        const body = encode(Buffer.from(holds ? `${before}${encoded}.` : before));
        const flow = requestTo('open.example', { headers: [['Content-Encoding', coding]] });
        const out = await sendBody(guardWith(), flow, cutAt(body, places));
        if (holds) expect(codeOf(out.failure)).toMatch(/^secret\./);
        else expect(out.bytes.equals(body)).toBe(true);
        expect(out.ended === null).toBe(holds);
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['cut short', gzipSync(githubPlaceholder).subarray(0, -6)],
    ['of several members', Buffer.concat([gzipSync('first'), gzipSync(githubPlaceholder)])],
    ['that is not coded at all', Buffer.from(githubPlaceholder)],
  ])('%s', async (_what, body) => {
    const flow = requestTo('open.example', { headers: [['Content-Encoding', 'gzip']] });
    expect(codeOf((await sendBody(guardWith(), flow, [body])).failure)).toBe(misplaced);
  });

  test('what does not decode, and another coding, goes on as it is', async () => {
    for (const coding of ['gzip', 'zstd', 'gzip, br']) {
      const flow = requestTo('open.example', { headers: [['content-encoding', coding]] });
      const out = await sendBody(guardWith(), flow, [Buffer.from('not '), Buffer.from('gzip')]);
      expect(out.bytes.toString()).toBe('not gzip');
    }
  });

  test('what is folded small is not unfolded past the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
    const costOf = async (act: () => unknown): Promise<number> => {
      const before = process.cpuUsage();
      await act();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const ground = guardWith({ searchedBodyBytes: 64 * 1024 });
    const searched = await costOf(async () => {
      const flow = requestTo('open.example', { headers: [['content-encoding', 'gzip']] });
      expect((await sendBody(ground, flow, [bomb])).bytes.equals(bomb)).toBe(true);
    });
    expect(searched).toBeLessThan((await costOf(() => gunzipSync(bomb))) / 3);
  });

  test('a sender that is faster than that is told to wait, and to go on', async () => {
    const body = gzipSync(randomBytes(600_000));
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    let drained = 0;
    const flow = requestTo('open.example', { headers: [['content-encoding', 'gzip']] });
    guardWith().guard.guardBody(flow, exchange.asExchange).sendBody(out);
    exchange.body!.onDrain = () => drained++;
    const pieces = cutAt(body, [100_000, 200_000, 300_000, 400_000]);
    expect(pieces.map((piece) => exchange.body!.write(piece))).toEqual([true, true, false, false, false]);
    expect(drained).toBe(0);
    exchange.body!.end(null);
    await out.over;
    expect(drained).toBeGreaterThan(0);
    expect(out.bytes.equals(body)).toBe(true);
  });
});

describe('nothing waits that need not', () => {
  test('what cannot be a beginning goes on at once, and a beginning waits for what follows', () => {
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    guardWith().guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.write(Buffer.from('{"event": 1}\n'));
    expect(out.bytes.toString()).toBe('{"event": 1}\n');
    exchange.body!.write(Buffer.from('to sallyport-place'));
    expect(out.bytes.toString()).toBe('{"event": 1}\nto ');
    exchange.body!.write(Buffer.from('s nearby'));
    expect(out.bytes.toString()).toBe('{"event": 1}\nto sallyport-places nearby');
  });

  test('a few bytes that wait go on after a silence, and still count as a beginning', async () => {
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    guardWith().guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.write(Buffer.from('a message that ends in sal'));
    expect(out.bytes.toString().endsWith('in ')).toBe(true);
    await sleep(150);
    expect(out.bytes.toString().endsWith('in sal')).toBe(true);
    exchange.body!.write(Buffer.from(githubPlaceholder.slice('ghp_sal'.length)));
    expect(codeOf(out.failure)).toBe(misplaced);
    expect(out.bytes.toString().endsWith('in sal')).toBe(true);
  });

  test('a longer beginning waits on, however long the silence', async () => {
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    guardWith().guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.write(Buffer.from(`a key: ${realValue.slice(0, 12)}`));
    await sleep(150);
    expect(out.bytes.toString()).toBe('a key: ');
    exchange.body!.end(null);
    expect(out.bytes.toString()).toBe(`a key: ${realValue.slice(0, 12)}`);
  });

  test('a request without a body and a tunnel are left as they are', () => {
    const { guard } = guardWith();
    const bare = new HandExchange('wire', { kind: 'none' }).asExchange;
    expect(guard.guardBody(requestTo('open.example'), bare)).toBe(bare);
    const tunnel = requestTo('open.example', { canonical: { kind: 'tunnel' }, permission: { tunnel: true } });
    const raw = new HandExchange('wire', { kind: 'until-close' }).asExchange;
    expect(guard.guardBody(tunnel, raw)).toBe(raw);
  });

  test('a sender that is told to wait is told to go on', () => {
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    let drained = 0;
    guardWith().guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.onDrain = () => drained++;
    out.accepts = false;
    expect(exchange.body!.write(Buffer.from('abc'))).toBe(false);
    out.onDrain?.();
    expect(drained).toBe(1);
  });

  test('a client that breaks off is not an end', () => {
    const exchange = new HandExchange();
    const out = new CollectingWriter();
    guardWith().guard.guardBody(requestTo('open.example'), exchange.asExchange).sendBody(out);
    exchange.body!.write(Buffer.from('a sallyport-'));
    exchange.body!.fail(new Error('gone'));
    expect(out.failure?.message).toBe('gone');
    expect(out.ended).toBeNull();
  });
});

describe('an agent may say what it has read to its model', () => {
  const talk = { canonical: { path: '/v1/messages', rawPath: '/v1/messages' } };
  const said = [Buffer.from(`GITHUB_TOKEN=${githubPlaceholder} and ${anthropicPlaceholder}`)];

  test('a placeholder in the body passes there, and is recorded', async () => {
    const flow = requestTo('model.example', talk);
    const out = await sendBody(guardWith(), flow, said);
    expect(out.failure).toBeNull();
    expect(out.bytes.equals(said[0]!)).toBe(true);
    expect(flow.incident).toBe('placeholder of github in the body, placeholder of anthropic in the body');
  });

  test('also where a person has approved the request: what its bodies are is for the policy to say', async () => {
    const approval = { permission: { rule: 'approval a1' } };
    const passes = await sendBody(guardWith(), requestTo('model.example', { ...talk, ...approval }), said);
    expect(passes.failure).toBeNull();
    const refused = await sendBody(guardWith(), requestTo('open.example', { ...talk, ...approval }), said);
    expect(codeOf(refused.failure)).toBe(misplaced);
  });

  test.each([
    ['a real value', {}, talk, [Buffer.from(realValue)], outbound],
    ['where the policy refuses it', { conversations: 'refuse' }, talk, said, misplaced],
    ['on another path of the same preset', {}, { canonical: { path: '/telemetry/x' } }, said, misplaced],
    ['by another rule', {}, { ...talk, permission: { rule: 'allow[1]' } }, said, misplaced],
  ] as const)('not %s', async (_what, settings, parts, pieces, code) => {
    const out = await sendBody(guardWith(settings), requestTo('model.example', parts), pieces);
    expect(codeOf(out.failure)).toBe(code);
  });
});
