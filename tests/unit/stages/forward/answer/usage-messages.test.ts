import { describe, expect, test } from 'vitest';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import type { BodyWriter } from '../../../../../src/path/exchange/exchange.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { serverFrameHead } from '../../../../../src/protocols/websocket/websocket-frames.ts';
import { head } from './scrub-ground.ts';
import { response, responseEvents, responsesUsage } from './usage-answers.ts';
import { type Metered, type MeteredAnswer, meteredAnswer } from './usage-ground.ts';

const none = { kind: 'none' } as const;
const ping = Buffer.concat([serverFrameHead(9, true, 4), Buffer.from('{"a"')]);

function message(event: object): Buffer {
  const text = Buffer.from(JSON.stringify(event));
  return Buffer.concat([serverFrameHead(1, true, text.length), text]);
}

/** A text in two frames, with a ping between them. */
function messageInParts(event: object): Buffer {
  const text = Buffer.from(JSON.stringify(event));
  const half = Math.floor(text.length / 2);
  return Buffer.concat([
    serverFrameHead(1, false, half),
    text.subarray(0, half),
    ping,
    serverFrameHead(0, true, text.length - half),
    text.subarray(half),
  ]);
}

class Upstream implements BodyWriter {
  onDrain: (() => void) | null = null;
  readonly got: Buffer[] = [];
  failure: Error | null = null;

  write(chunk: Buffer): boolean {
    this.got.push(chunk);
    return true;
  }

  flush(): void {}

  end(): void {}

  fail(reason: Error): void {
    this.failure = reason;
  }
}

interface Conversation extends MeteredAnswer {
  readonly fromUpstream: BodyWriter;
  /** What the client's end writes to. */
  readonly toUpstream: BodyWriter;
  readonly upstream: Upstream;
}

function conversation(made: Metered = {}): Conversation {
  const answer = meteredAnswer(made);
  const upstream = new Upstream();
  let toUpstream: BodyWriter = upstream;
  const { end } = answer;
  Object.assign(end, {
    goRaw: (to: BodyWriter) => {
      toUpstream = to;
      return end;
    },
  });
  answer.exchange.respond(head(none, [], 101));
  const fromUpstream = answer.exchange.goRaw(upstream);
  return Object.assign(answer, { fromUpstream, toUpstream, upstream });
}

describe('every answer on a WebSocket is counted when it is complete', () => {
  test('two answers on one connection, in frames of any kind', async () => {
    const { fromUpstream, uses, finish, end } = conversation();
    let sent = 0;
    for (const event of responseEvents) {
      const bytes = message(event);
      sent += bytes.length;
      fromUpstream.write(bytes);
    }
    expect(uses).toMatchObject([
      { model: 'gpt-5-codex', input: 1000, output: 900, cacheRead: 6000, isEstimated: false },
    ]);
    const second = messageInParts({
      type: 'response.completed',
      response: response({ usage: { ...responsesUsage, output_tokens: 1, total_tokens: 7001 } }),
    });
    for (const byte of second) fromUpstream.write(Buffer.from([byte]));
    expect(uses).toHaveLength(2);
    expect(uses[1]).toMatchObject({ output: 1, isEstimated: false });
    await finish();
    expect(uses).toHaveLength(2);
    expect(end.bytes.length).toBe(sent + second.length);
  });

  test('a live conversation of Google: turn by turn', async () => {
    const { fromUpstream, uses, finish } = conversation();
    for (const responseTokenCount of [5, 3]) {
      fromUpstream.write(message({ serverContent: { modelTurn: { parts: [{ text: 'x' }] } } }));
      fromUpstream.write(
        message({ usageMetadata: { promptTokenCount: 10, responseTokenCount }, serverContent: { turnComplete: true } }),
      );
    }
    await finish();
    expect(uses).toMatchObject([
      { input: 10, output: 5, isEstimated: false },
      { input: 10, output: 3, isEstimated: false },
    ]);
  });

  test('an answer that was under way when the connection ended is estimated', async () => {
    const { fromUpstream, uses, finish } = conversation({ bytesIn: 40 });
    fromUpstream.write(message({ type: 'response.output_text.delta', delta: 'x'.repeat(400) }));
    await finish(new ClientGone());
    expect(uses).toMatchObject([{ input: 10, output: 100, isEstimated: true }]);
  });

  test('a question that nobody waited for is estimated, on a connection with answers and on one without', async () => {
    const question = Buffer.concat([Buffer.from([0x81, 0x80 | 100, 1, 2, 3, 4]), Buffer.alloc(100)]);
    const farewell = Buffer.from([0x88, 0x82, 1, 2, 3, 4, 0x02, 0xea]);
    for (const isAnsweredBefore of [true, false]) {
      const { fromUpstream, toUpstream, uses, finish } = conversation({ bytesIn: 400 });
      if (isAnsweredBefore) {
        toUpstream.write(question);
        for (const event of responseEvents) fromUpstream.write(message(event));
      }
      const before = uses.length;
      toUpstream.write(question);
      await finish(new ClientGone());
      expect(uses.slice(before)).toMatchObject([{ output: 1000, isEstimated: true }]);
    }
    const left = conversation();
    left.toUpstream.write(farewell);
    await left.finish();
    expect(left.uses).toEqual([]);
  });

  test('messages that nobody can read count by their length; a silent connection costs nothing', async () => {
    const unread = conversation({ bytesIn: 40 });
    unread.fromUpstream.write(Buffer.concat([serverFrameHead(2, true, 400), Buffer.alloc(400, 1)]));
    await unread.finish();
    expect(unread.uses).toMatchObject([{ input: 10, output: 100, isEstimated: true }]);
    const silent = conversation();
    await silent.finish();
    expect(silent.uses).toEqual([]);
  });
});

describe('a conversation goes on as long as there is a budget for it', () => {
  test('what the sandbox sends after that does not arrive, and the connection ends', () => {
    const answer = conversation();
    answer.toUpstream.write(Buffer.from('first'));
    const refusal = new Refusal('budget.tokens', 'used up');
    answer.over = refusal;
    answer.toUpstream.write(Buffer.from('second'));
    answer.toUpstream.write(Buffer.from('third'));
    expect(Buffer.concat(answer.upstream.got).toString()).toBe('first');
    expect(answer.upstream.failure).toBe(refusal);
  });
});
