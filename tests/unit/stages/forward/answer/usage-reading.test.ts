import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { UsageEvents } from '../../../../../src/stages/forward/answer/usage-reading.ts';
import { UsageScan } from '../../../../../src/stages/forward/answer/usage-scan.ts';
import { UsageTally } from '../../../../../src/stages/forward/answer/usage-tally.ts';
import { head, pour } from './scrub-ground.ts';
import { anthropicDelta, anthropicStart, chatWithoutUsage, events, recorded } from './usage-answers.ts';
import { type Metered, meteredAnswer } from './usage-ground.ts';

const chunked = { kind: 'chunked' } as const;

async function read(body: Buffer, sizes: readonly number[] = [], made: Metered = {}, fields: [string, string][] = []) {
  const answer = meteredAnswer(made);
  const writer = answer.exchange.respond(head(chunked, fields));
  await pour(writer, body, sizes);
  writer.end(null);
  await answer.finish();
  return answer;
}

/** Thousands of cuts: `expect` would take longer than all of them. */
function isTheSame(read: object, use: object): boolean {
  return Object.entries(use).every(([name, value]) => read[name as never] === value);
}

describe('what an answer cost is read as it passes', () => {
  test.each(recorded)('$name', async ({ body, use }) => {
    const { uses, end } = await read(Buffer.from(body));
    expect(uses).toMatchObject([{ ...use, isEstimated: false }]);
    expect(end.bytes.equals(Buffer.from(body))).toBe(true);
  });

  test.each(recorded)('$name: in two pieces, cut at every byte', ({ body, use }) => {
    const bytes = Buffer.from(body);
    const wrong: string[] = [];
    for (let at = 1; at < bytes.length; at++) {
      const tally = new UsageTally();
      const reader = new UsageEvents(new UsageScan(tally));
      reader.feed(bytes.subarray(0, at));
      reader.feed(bytes.subarray(at));
      if (!isTheSame(tally.said(false) ?? {}, use)) wrong.push(`cut at ${at}`);
    }
    expect(wrong).toEqual([]);
  });

  test.each(recorded)('$name: in pieces of any size', async ({ body, use }) => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 200 });
    const read1 = async (list: number[]) => {
      const { uses } = await read(Buffer.from(body), list);
      expect(uses).toMatchObject([{ ...use, isEstimated: false }]);
    };
    await fc.assert(fc.asyncProperty(sizes, read1), { numRuns: 5 });
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('compressed by %s, asked for or not, searched for credentials or not', async (coding, compress) => {
    for (const { body, use } of recorded.slice(0, 2)) {
      for (const isSearched of [true, false]) {
        for (const outgoing of [[['accept-encoding', coding]], []] as [string, string][][]) {
          const { uses } = await read(compress(body), [20, 30], { isSearched, outgoing }, [
            ['content-encoding', coding],
          ]);
          expect(uses).toMatchObject([{ ...use, isEstimated: false }]);
        }
      }
    }
  });

  test('of an answer that is not searched for credentials, too', async () => {
    const { uses, end } = await read(Buffer.from(recorded[0]!.body), [], { isSearched: false });
    expect(uses).toMatchObject([recorded[0]!.use]);
    expect(end.text).toBe(Buffer.from(recorded[0]!.body).toString('latin1'));
  });

  test('a long answer is not kept: what it cost may stand at its end', async () => {
    const answer = meteredAnswer();
    const writer = answer.exchange.respond(head(chunked));
    writer.write(Buffer.from('{"content":[{"type":"text","text":"'));
    const filler = Buffer.alloc(1 << 20, 'x\\"');
    for (let i = 0; i < 2; i++) writer.write(filler);
    writer.write(Buffer.from('"}],"usage":{"input_tokens":3,"output_tokens":5}}'));
    writer.end(null);
    await answer.finish();
    expect(answer.uses).toMatchObject([{ input: 3, output: 5, isEstimated: false }]);
  });

  test('nesting without end is no way to hide it, nor to fill memory', async () => {
    const deep = `{"a":${'['.repeat(5000)}"usage"${']'.repeat(5000)},"usage":{"input_tokens":3,"output_tokens":5}}`;
    expect((await read(Buffer.from(deep))).uses).toMatchObject([{ input: 3, output: 5 }]);
  });
});

describe('unknown is never nothing', () => {
  test('a stream that does not say it: request and text are counted by their length', async () => {
    const { uses } = await read(Buffer.from(chatWithoutUsage), [], { bytesIn: 400 });
    expect(uses).toMatchObject([{ input: 100, output: 100, isEstimated: true, model: 'gpt-4.1-2025-04-14' }]);
  });

  test('an answer of another shape, or none that can be read: by its length', async () => {
    for (const body of ['{"result":42}'.padEnd(400), 'plain'.repeat(80), '\0\x01\x02\xff'.repeat(100)]) {
      const { uses } = await read(Buffer.from(body, 'latin1'), [], { bytesIn: 40 });
      expect(uses).toMatchObject([{ input: 10, output: 100, isEstimated: true }]);
    }
  });

  test('an answer in a coding that nobody reads: its bytes hold more than bytes do', async () => {
    const made: Metered = { bytesIn: 40, isSearched: false };
    const { uses, end } = await read(Buffer.alloc(100, 7), [], made, [['content-encoding', 'zstd']]);
    expect(uses).toMatchObject([{ input: 10, output: 100, isEstimated: true }]);
    expect(end.bytes.length).toBe(100);
  });

  test('a compressed request holds more than its bytes, a file less', async () => {
    const body = Buffer.from(chatWithoutUsage);
    const coded = await read(body, [], { bytesIn: 400, fields: [['Content-Encoding', 'gzip']] });
    expect(coded.uses[0]!.input).toBe(400);
    const file = await read(body, [], {
      bytesIn: 4 << 20,
      fields: [['Content-Type', 'multipart/form-data; boundary=x']],
    });
    expect(file.uses[0]!.input).toBe(1024);
  });

  test('vectors are no words of a model: of an answer without usage only what was asked counts', async () => {
    const vector = Array.from({ length: 3072 }, (_, n) => n / 7919);
    const body = Buffer.from(JSON.stringify({ embedding: { values: vector } }));
    const model = '/v1beta/models/gemini-embedding-001';
    for (const path of [`${model}:embedContent`, `${model}:batchEmbedContents`, '/v1/embeddings', '/v2/embed/']) {
      const { uses } = await read(body, [], { path, bytesIn: 400, seconds: 2 });
      expect(uses).toMatchObject([{ input: 100, output: 0, isEstimated: true }]);
    }
    for (const path of [`${model}:generateContent`, '/v1/messages', '/v1/embeddings/chat']) {
      expect((await read(body, [], { path, bytesIn: 400 })).uses[0]!.output).toBeGreaterThan(10_000);
    }
  });

  test('an empty answer with status 200', async () => {
    expect((await read(Buffer.alloc(0), [], { bytesIn: 400 })).uses).toMatchObject([{ input: 100, output: 1 }]);
  });

  test('an answer that breaks off: what was read of it, and the text that came', async () => {
    const answer = meteredAnswer();
    const writer = answer.exchange.respond(head(chunked));
    writer.write(Buffer.from(events([anthropicStart, anthropicDelta('x'.repeat(800))])));
    const gone = new ClientGone();
    writer.fail(gone);
    await answer.finish(gone);
    expect(answer.uses).toMatchObject([
      {
        input: 21,
        cacheRead: 2051,
        cacheWrite: 188,
        output: 200,
        isEstimated: true,
        model: 'claude-sonnet-4-5-20250929',
      },
    ]);
  });

  test('an answer that breaks off after it has said what it cost is not guessed at', async () => {
    const { body, use } = recorded.find(({ name }) => name === 'OpenAI responses, streamed')!;
    const answer = meteredAnswer();
    const writer = answer.exchange.respond(head(chunked));
    writer.write(Buffer.from(body));
    await answer.finish(new ClientGone());
    expect(answer.uses).toMatchObject([{ ...use, isEstimated: false }]);
  });

  test('a client that does not wait for the answer has asked all the same', async () => {
    for (const failure of [new ClientGone(), new Refusal('upstream.timeout', 'too slow')]) {
      const answer = meteredAnswer({ bytesIn: 400 });
      await answer.finish(failure);
      expect(answer.uses).toMatchObject([{ input: 100, output: 1000, isEstimated: true }]);
    }
  });

  test('a model that thinks unseen takes its time: where nothing is said, seconds count', async () => {
    const made: Metered = { seconds: 60 };
    const silent = await read(Buffer.from(chatWithoutUsage), [], made);
    expect(silent.uses[0]!.output).toBeGreaterThanOrEqual(3000);
    const cut = meteredAnswer(made);
    cut.exchange.respond(head(chunked)).write(Buffer.from(events([anthropicStart, anthropicDelta('x')])));
    await cut.finish(new ClientGone());
    expect(cut.uses[0]!.output).toBeGreaterThanOrEqual(3000);
    const said = await read(Buffer.from(recorded[0]!.body), [], made);
    expect(said.uses).toMatchObject([{ ...recorded[0]!.use, isEstimated: false }]);
  });

  test('work that goes on in the background may never be fetched: as much as a long answer', async () => {
    const begun = { id: 'resp_1', status: 'queued', background: true, model: 'gpt-5-pro', usage: null };
    const bodies = [
      JSON.stringify(begun),
      JSON.stringify({ ...begun, background: false }),
      events([{ type: 'response.created', response: { ...begun, status: 'in_progress' } }]),
    ];
    for (const body of bodies) {
      expect((await read(Buffer.from(body))).uses).toMatchObject([{ output: 32_768, isEstimated: true }]);
    }
    const usage = { input_tokens: 3, output_tokens: 5 };
    const done = JSON.stringify({ ...begun, status: 'completed', usage });
    expect((await read(Buffer.from(done))).uses).toMatchObject([{ input: 3, output: 5, isEstimated: false }]);
    const said = JSON.stringify({ choices: [{ message: { content: '{"background":true,"status":"queued"}' } }] });
    expect((await read(Buffer.from(said))).uses[0]!.output).toBeLessThan(100);
  });

  test('an answer in the background that the client does not wait for goes on, and another one ends', async () => {
    for (const [background, output] of [
      [true, 32_768],
      [false, 100],
    ] as const) {
      const answer = meteredAnswer();
      const writer = answer.exchange.respond(head(chunked));
      const response = { id: 'resp_1', status: 'in_progress', background };
      const said = { type: 'response.output_text.delta', delta: 'x'.repeat(400) };
      await pour(writer, Buffer.from(events([{ type: 'response.created', response }, said])));
      await answer.finish(new ClientGone());
      expect(answer.uses).toMatchObject([{ output, isEstimated: true }]);
    }
  });

  test.each([
    ['an answer before it', { previous_response_id: 'resp_1' }, 'resp_1'],
    ['an interaction before it', { previous_interaction_id: 'v1_1' }, 'v1_1'],
    ['a conversation', { previous_response_id: null, conversation: { id: 'conv_1' } }, ''],
    ['nothing', { previous_response_id: null, conversation: null }, null],
  ])('what an answer goes on from is told where it did not say its input: %s', async (_what, fields, follows) => {
    const response = { id: 'resp_2', status: 'in_progress', ...fields, usage: null };
    const begun = { type: 'response.created', response };
    const answer = meteredAnswer();
    const writer = answer.exchange.respond(head(chunked));
    await pour(writer, Buffer.from(events([begun, { type: 'response.output_text.delta', delta: 'x'.repeat(40) }])));
    await answer.finish(new ClientGone());
    expect(answer.uses).toMatchObject([{ id: 'resp_2', follows, isEstimated: true }]);
    const whole = { ...response, usage: { input_tokens: 3, output_tokens: 5 } };
    expect((await read(Buffer.from(JSON.stringify(whole)))).uses).toMatchObject([{ input: 3, follows: null }]);
  });

  test('numbers that no answer has do not spoil a sum', async () => {
    const usage =
      '{"usage":{"input_tokens":-5,"output_tokens":1e300,"cache_read_input_tokens":"7","total_tokens":NaN}}';
    const { uses } = await read(Buffer.from(usage), [], { bytesIn: 40 });
    expect(uses).toMatchObject([{ input: 10, output: 100_000_000, cacheRead: 0 }]);
  });
});

describe('what costs nothing', () => {
  test('an answer with an error', async () => {
    for (const status of [301, 400, 401, 429, 500, 529]) {
      const answer = meteredAnswer();
      const writer = answer.exchange.respond(head(chunked, [], status));
      writer.write(Buffer.from(recorded[0]!.body));
      writer.end(null);
      await answer.finish();
      expect(answer.uses).toEqual([]);
    }
  });

  test('a stream that consists of an error', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect((await read(Buffer.from(events([error])))).uses).toEqual([]);
    const failed = { type: 'response.failed', response: { status: 'failed', error: { code: 'x' }, usage: null } };
    expect((await read(Buffer.from(events([failed])))).uses).toEqual([]);
  });

  test('an upstream that could not be reached, and a client that sent nothing', async () => {
    const unreachable = meteredAnswer();
    await unreachable.finish(new Refusal('upstream.connect', 'no'));
    const silent = meteredAnswer({ bytesIn: 0 });
    await silent.finish(new ClientGone());
    expect([...unreachable.uses, ...silent.uses]).toEqual([]);
  });

  test('what is fetched again counts only by what it says itself', async () => {
    const made: Metered = { isRetrieval: true };
    expect((await read(Buffer.from('{"id":"resp_1","status":"queued","usage":null}'), [], made)).uses).toEqual([]);
    const { body, use } = recorded.find(({ name }) => name === 'OpenAI responses, whole')!;
    expect((await read(Buffer.from(body), [], made)).uses).toMatchObject([{ ...use, id: 'resp_1' }]);
  });

  test('of an answer that says a total and nothing else, none of it is lost', async () => {
    const body = Buffer.from('{"model":"m","usageMetadata":{"totalTokenCount":5000}}');
    for (const isRetrieval of [true, false]) {
      const { uses } = await read(body, [], { isRetrieval, bytesIn: 4 });
      expect(uses).toMatchObject([{ input: 5000, output: 0 }]);
    }
  });

  test('what is fetched again and cut off before it says its cost counts by what the model said', async () => {
    const answer = meteredAnswer({ isRetrieval: true });
    const writer = answer.exchange.respond(head({ kind: 'chunked' }));
    writer.write(Buffer.from(events([{ type: 'response.output_text.delta', delta: 'x'.repeat(400) }])));
    await answer.finish(new ClientGone());
    expect(answer.uses).toMatchObject([{ id: null, input: 0, output: 100, isEstimated: true }]);
  });
});
