// Attack: send so many requests that whoever watches never hears of the one that waits for their answer, or believes that it
// waits on when it was answered.
import { expect, test } from 'vitest';
import type { Question } from '../../../src/path/approvals.ts';
import { askedFor } from '../../support/approvals-ground.ts';
import { openPeople } from '../../support/people-ground.ts';

test('a question and its answer are told, however many requests a slow reader has before it', async () => {
  const { people, publish } = openPeople();
  const leaving = new AbortController();
  const events = people.questions.watch(leaving.signal)[Symbol.asyncIterator]();
  const first = events.next();
  publish();
  expect((await first).value).toMatchObject({ event: 'request' });

  for (let i = 0; i < 3_000; i++) publish();
  const held = people.asking.ask(askedFor(), leaving.signal);
  for (let i = 0; i < 3_000; i++) publish();
  const [question] = people.questions.list();
  await people.questions.answer(question!.id, { answer: 'deny', by: 'user 0' });
  await held;

  const told: string[] = [];
  let requests = 0;
  let lost = 0;
  while (lost === 0) {
    const { event, data } = (await events.next()).value!;
    if (event === 'request') requests++;
    else if (event === 'lost') lost = (data as { count: number }).count;
    else told.push(`${event} ${(data as Question).id}`);
  }
  expect(told).toEqual([`question ${question!.id}`, `answered ${question!.id}`]);
  expect(requests).toBeLessThan(3_000);
  expect(requests + lost).toBe(6_000);
  leaving.abort();
});
