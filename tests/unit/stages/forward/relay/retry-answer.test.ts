import { expect, test } from 'vitest';
import type { BodyWriter } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { RetryAnswer } from '../../../../../src/stages/forward/relay/retry-answer.ts';

const head = { status: 401, reason: '', headers: new HeaderList(), framing: { kind: 'chunked' } } as const;

test('of an answer that is held no more than a little is kept: the upstream waits, and goes on when it is passed on', () => {
  const answer = new RetryAnswer(head);
  let drains = 0;
  answer.onDrain = () => drains++;
  const chunk = Buffer.alloc(16 * 1024, 'x');
  expect([1, 2, 3, 4].map(() => answer.write(chunk))).toEqual([true, true, true, false]);
  let bytes = 0;
  const client: BodyWriter = {
    onDrain: null,
    write: (piece) => {
      bytes += piece.length;
      return true;
    },
    flush: () => {},
    end: () => {},
    fail: () => {},
  };
  answer.passOnTo(() => client);
  expect(bytes).toBe(64 * 1024);
  expect(drains).toBe(1);
});
