import { expect, test } from 'vitest';
import { EventQueue } from '../../../../src/gateway/approvals/event-queue.ts';

test('a slow reader gets the first ones, hears how many it lost, and goes on', async () => {
  const queue = new EventQueue<string>(2, (count) => `lost ${count}`);
  const leaving = new AbortController();
  const reader = queue.read(leaving.signal);
  for (const event of ['a', 'b', 'c', 'd']) queue.put(event);
  const read = async () => (await reader.next()).value;
  expect([await read(), await read(), await read()]).toEqual(['a', 'b', 'lost 2']);
  const next = read();
  queue.put('e');
  expect(await next).toBe('e');
  const last = reader.next();
  leaving.abort();
  expect(await last).toMatchObject({ done: true });
});

test('a flood of requests leaves no question out, nor its answer, and what was lost is counted', async () => {
  const queue = new EventQueue<string>(2, (count) => `lost ${count}`);
  const leaving = new AbortController();
  for (const event of ['a', 'b', 'c']) queue.put(event);
  for (const id of ['q1', 'q2', 'q3', 'q4']) queue.put(`asked ${id}`, id);
  queue.put('d');
  const read: string[] = [];
  for await (const event of queue.read(leaving.signal)) {
    read.push(event);
    if (event === 'lost 2') {
      queue.put('answered q1', 'q1');
      queue.put('e');
    }
    if (event === 'e') leaving.abort();
  }
  expect(read).toEqual(['a', 'b', 'asked q1', 'asked q2', 'asked q3', 'asked q4', 'lost 2', 'answered q1', 'e']);
});

test('for a reader that does not read, questions that are over do not pile up; those that wait are kept', async () => {
  const queue = new EventQueue<string>(2, (count) => `lost ${count}`);
  for (const id of ['q1', 'q2']) queue.put(`asked ${id}`, id);
  for (let i = 3; i <= 1000; i++) {
    queue.put(`asked q${i}`, `q${i}`);
    queue.put(`answered q${i}`, `q${i}`);
  }
  queue.put('asked last', 'last');
  const leaving = new AbortController();
  const read: string[] = [];
  for await (const event of queue.read(leaving.signal)) {
    read.push(event);
    if (event.startsWith('lost')) leaving.abort();
  }
  expect(read).toEqual(['asked q1', 'asked q2', 'asked last', 'lost 1996']);
});
