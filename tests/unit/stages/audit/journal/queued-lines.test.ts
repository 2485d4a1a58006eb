import { expect, test } from 'vitest';
import { QueuedLines } from '../../../../../src/stages/audit/journal/queued-lines.ts';

test('lines wait as the bytes of the file, whatever they hold and however long they are', () => {
  const queue = new QueuedLines();
  const lines = ['{"a":1}', '{"path":"/ä€😀"}', `{"long":"${'é'.repeat(40_000)}"}`, '{"b":2}'];
  for (const line of lines) {
    expect(queue.try(line).equals(Buffer.from(line))).toBe(true);
    queue.add();
  }
  expect(queue.count).toBe(4);
  expect(queue.take().toString()).toBe(`${lines.join('\n')}\n`);
  expect(queue.count).toBe(0);
});

test('a line that was tried and not added is not there', () => {
  const queue = new QueuedLines();
  queue.try('{"never":true}');
  queue.try('{"x":1}');
  queue.add();
  expect(queue.take().toString()).toBe('{"x":1}\n');
});

test('what was taken stays as it is until it is given back, whatever comes meanwhile', () => {
  const queue = new QueuedLines();
  const fill = (word: string): void => {
    queue.try(`{"word":"${word}"}`);
    queue.add();
  };
  fill('first');
  const first = queue.take();
  for (const word of ['second', 'third', 'fourth']) {
    fill(word);
    const taken = queue.take();
    expect(first.toString()).toBe('{"word":"first"}\n');
    expect(taken.toString()).toBe(`{"word":"${word}"}\n`);
    queue.giveBack(taken);
  }
  queue.giveBack(first);
  fill('fifth');
  expect(queue.take().toString()).toBe('{"word":"fifth"}\n');
});
