// A person reads a question and presses a key. Meanwhile that question may have gone (answered elsewhere, its client left) and
// another may have taken its place: a sandbox can time that. The key must not approve what was not read.
import { expect, test } from 'vitest';
import { settlingMs } from '../../../src/cli/watch/watch-view.ts';
import { nowMs, question, viewOf } from '../../unit/cli/watch/watch-ground.ts';

const gone = (id: string) => ({ event: 'answered', data: { id, verdict: { granted: false, why: 'gone', by: null } } });

test('a question that took the place of another is not answered by the key that was on its way', () => {
  const view = viewOf(question('q1'), question('q2', { host: 'evil.example' }));
  const pressed = nowMs + 60_000;
  view.hear(gone('q1'), pressed - 1);
  expect(view.selected?.id).toBe('q2');
  for (const key of ['a', 'm', 'd']) expect(view.press(key, pressed)).toEqual({ do: 'nothing' });
  expect(view.message).toContain('q2 has just come');
  expect(view.press('a', pressed + settlingMs)).toMatchObject({ do: 'answer', id: 'q2' });
});

test('nor is one that came while there was none', () => {
  const view = viewOf();
  view.hear(question('q1'), nowMs);
  expect(view.press('a', nowMs + 100)).toEqual({ do: 'nothing' });
});

test('one that comes behind the selected one does not take the selection', () => {
  const view = viewOf(question('q5'));
  view.hear(question('q6'), nowMs + 60_000);
  expect(view.press('a', nowMs + 60_001)).toMatchObject({ id: 'q5' });
});

const begins = '\u001b[200~';
const ends = '\u001b[201~';
const read = nowMs + 60_000;

test('what is pasted answers nothing, whether the terminal marks it or not', () => {
  const view = viewOf(question('q1'));
  for (const pasted of ['approve all of them', `${begins}a${ends}`]) expect(view.type(pasted, read)).toEqual([]);
  expect(view.type('a', read)).toMatchObject([{ id: 'q1' }]);
});

test('nor does any part of a paste that comes in several reads', () => {
  const view = viewOf(question('q1'));
  for (const part of [begins + 'x'.repeat(4090), 'a', 'banana\n', 'm\r', `d${ends}`]) {
    expect(view.type(part, read), part.slice(0, 20)).toEqual([]);
  }
  expect(view.type('a', read)).toMatchObject([{ id: 'q1' }]);
});

test('nor where a read ends in the middle of a mark, wherever that is', () => {
  const sent = `${begins}a${ends}`;
  for (let first = 1; first < sent.length; first++) {
    for (let second = first; second < sent.length; second++) {
      const view = viewOf(question('q1'));
      const parts = [sent.slice(0, first), sent.slice(first, second), sent.slice(second)].filter((part) => part !== '');
      const done = parts.flatMap((part) => view.type(part, read)).filter((action) => action.do !== 'nothing');
      expect(done, JSON.stringify(parts)).toEqual([]);
      expect(view.type('a', read), JSON.stringify(parts)).toMatchObject([{ id: 'q1' }]);
    }
  }
});
