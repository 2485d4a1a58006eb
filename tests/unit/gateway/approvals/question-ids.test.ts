import { expect, test } from 'vitest';
import { QuestionIds } from '../../../../src/gateway/approvals/question-ids.ts';

test('names are short, easy to tell apart, and none is given twice', () => {
  const ids = new QuestionIds();
  const given = Array.from({ length: 1_000 }, () => ids.next(() => false));
  for (const id of given) expect(id).toMatch(/^q[acdefghjkmnpqrtvwxy34679]{5}$/);
  expect(new Set(given).size).toBe(given.length);
});

test('what is open or was there a moment ago is not given again; what is long over may be', () => {
  const made = ['q1', 'q1', 'open', 'q2', ...Array.from({ length: 999 }, (_, i) => `more${i}`), 'q1'];
  const ids = new QuestionIds(() => made.shift()!);
  const next = () => ids.next((id) => id === 'open');
  expect([next(), next()]).toEqual(['q1', 'q2']);
  for (let i = 0; i < 999; i++) expect(next()).toBe(`more${i}`);
  expect(next()).toBe('q1');
});
