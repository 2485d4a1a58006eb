import { describe, expect, test } from 'vitest';
import type { ResponseHead } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { type AnswerRewriter, RewrittenAnswer } from '../../../../src/path/exchange/rewritten-answer.ts';
import { ScriptedExchange } from './scripted-exchange.ts';

/** Passes whole lines on in upper case; a line with `!` must not be passed on. */
function shouting(): AnswerRewriter {
  let held = '';
  return {
    feed: (chunk) => {
      held += chunk.toString('latin1');
      if (held.includes('!')) throw new Error('not to be passed on');
      const end = held.lastIndexOf('\n') + 1;
      const lines = held.slice(0, end).toUpperCase();
      held = held.slice(end);
      return [Buffer.from(lines)];
    },
    end: () => [Buffer.from(held.toUpperCase())],
  };
}

const headOf = (pairs: [string, string][]): ResponseHead => ({
  status: 200,
  reason: 'OK',
  headers: HeaderList.from(pairs),
  framing: { kind: 'length', bytes: 5 },
});
const plain = headOf([
  ['Content-Length', '5'],
  ['ETag', '"x"'],
  ['Content-MD5', 'abc'],
  ['Content-Type', 'text/plain'],
]);

function answering(choose: (head: ResponseHead) => AnswerRewriter | null = shouting) {
  const inner = new ScriptedExchange();
  return { inner, writer: new RewrittenAnswer(inner, choose).respond(plain) };
}

describe('an answer passes through its rewriter on the way to the client', () => {
  test('bytes as soon as they may go, what is left at the end, and then the end with its trailers', () => {
    const { inner, writer } = answering();
    writer.write(Buffer.from('on'));
    writer.write(Buffer.from('e\ntw'));
    expect(inner.body.text).toBe('ONE\n');
    writer.write(Buffer.from('o'));
    const trailers = HeaderList.from([['Server-Timing', 'x']]);
    writer.end(trailers);
    expect([inner.body.text, inner.body.ended]).toEqual(['ONE\nTWO', trailers]);
  });

  test('what was true of the old bytes is not said of the new ones', () => {
    const { inner, writer } = answering();
    writer.write(Buffer.from('a\n'));
    expect(inner.head?.headers.names).toEqual(['Content-Type']);
    expect(inner.head?.framing).toEqual({ kind: 'chunked' });
    expect([inner.head?.status, inner.head?.reason]).toEqual([200, 'OK']);
  });

  test('one that is left alone passes as it is', () => {
    const { inner, writer } = answering(() => null);
    expect(inner.head).toBe(plain);
    expect(writer).toBe(inner.body);
  });

  test('an empty one gets its head all the same', () => {
    const { inner, writer } = answering();
    writer.end(null);
    expect([inner.answered, inner.body.text, inner.body.ended]).toEqual([true, '', null]);
  });

  test('where the client is slow the upstream waits, and goes on when it has drained', () => {
    const { inner, writer } = answering();
    let drains = 0;
    writer.onDrain = () => drains++;
    inner.body.more = false;
    expect(writer.write(Buffer.from('held'))).toBe(true);
    expect(writer.write(Buffer.from('\n'))).toBe(false);
    inner.body.onDrain?.();
    expect(drains).toBe(1);
    writer.flush();
    expect(inner.body.flushes).toBe(1);
  });
});

describe('an answer that must not be passed on never looks whole to the client', () => {
  test('a head that must not pass is not given', () => {
    const inner = new ScriptedExchange();
    const exchange = new RewrittenAnswer(inner, () => {
      throw new Error('compressed');
    });
    expect(() => exchange.respond(plain)).toThrow('compressed');
    expect(inner.answered).toBe(false);
  });

  test('before the first byte the client can still be told in words', () => {
    const { inner, writer } = answering();
    writer.flush();
    writer.write(Buffer.from('one'));
    expect(() => writer.write(Buffer.from('!'))).toThrow('not to be passed on');
    writer.fail(new Error('the upstream broke off'));
    expect([inner.answered, inner.body.ended, inner.body.failure]).toEqual([false, undefined, null]);
  });

  test('after it, the answer is broken off', () => {
    const { inner, writer } = answering();
    writer.write(Buffer.from('one\n'));
    expect(() => writer.write(Buffer.from('!'))).toThrow('not to be passed on');
    const reason = new Error('the upstream broke off');
    writer.fail(reason);
    expect([inner.body.text, inner.body.ended, inner.body.failure]).toEqual(['ONE\n', undefined, reason]);
  });

  test('an end that the rewriter cannot read is no end', () => {
    const { inner, writer } = answering(() => ({
      feed: (chunk) => [chunk],
      end: () => {
        throw new Error('cut short');
      },
    }));
    writer.write(Buffer.from('one'));
    expect(() => writer.end(null)).toThrow('cut short');
    expect(inner.body.ended).toBeUndefined();
  });
});
