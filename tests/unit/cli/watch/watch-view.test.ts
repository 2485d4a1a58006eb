import { describe, expect, test } from 'vitest';
import { settlingMs, WatchView } from '../../../../src/cli/watch/watch-view.ts';
import { nowMs, question, request, viewOf } from './watch-ground.ts';

const later = nowMs + settlingMs;
const hosts = (view: WatchView) => view.records.map(({ host }) => host);

describe('keys of `sallyport watch`', () => {
  test('answer the selected question, each in its own way', () => {
    const view = viewOf(question('q1'), question('q2'));
    expect(view.press('a', later)).toEqual({ do: 'answer', id: 'q1', body: { answer: 'approve', for: 'once' } });
    view.press('\u001b[B', later);
    expect(view.press('m', later)).toEqual({
      do: 'answer',
      id: 'q2',
      body: { answer: 'approve', for: 'minutes', minutes: 15, scope: 'path' },
    });
    view.press('\u001b[A', later);
    expect(view.press('d', later)).toEqual({ do: 'answer', id: 'q1', body: { answer: 'deny' } });
  });

  test('with nothing waiting say so and do nothing', () => {
    const view = viewOf();
    expect(view.press('a', later)).toEqual({ do: 'nothing' });
    expect(view.message).toContain('nothing waits');
  });

  test('show refusals alone, pause, and filter while typing', () => {
    const view = viewOf(request({ host: 'a.example' }), request({ host: 'b.example', verdict: 'refused' }));
    view.press('r', later);
    expect(hosts(view)).toEqual(['b.example']);
    view.press('r', later);
    view.press('p', later);
    view.hear(request({ host: 'c.example' }), nowMs);
    expect(hosts(view)).toEqual(['a.example', 'b.example']);
    view.press('p', later);
    expect(hosts(view)).toHaveLength(3);
    for (const key of ['f', 'q', 'd', '\u007f', '\u007f', ...'A.EX', '\r'])
      expect(view.press(key, later).do).toBe('nothing');
    expect([hosts(view), view.isTyping]).toEqual([['a.example'], false]);
    for (const key of ['f', '\u001b']) view.press(key, later);
    expect(hosts(view)).toHaveLength(3);
  });

  test('that come at once are taken one by one', () => {
    const view = viewOf(question('q1'), question('q2'));
    expect(view.type('\u001b[Ba', nowMs).at(-1)).toMatchObject({ id: 'q2' });
    expect(view.type('\u001bOAd', nowMs).at(-1)).toMatchObject({ id: 'q1', body: { answer: 'deny' } });
    view.type('fab', nowMs);
    view.type('\u001b[200~c d\u001b[201~\r', nowMs);
    expect([view.filter, view.isTyping]).toEqual(['abc d', false]);
  });

  test('that come in two reads are the same keys, and Esc by itself does not wait for more', () => {
    const view = viewOf(question('q1'), question('q2'));
    for (const part of ['\u001b', '[', 'B']) view.type(part, nowMs);
    expect(view.type('a', nowMs)).toMatchObject([{ id: 'q2' }]);
    view.type('fab', nowMs);
    view.type('\u001b', nowMs);
    expect([view.filter, view.isTyping]).toEqual(['', false]);
    expect(view.type('\u001b', nowMs)).toHaveLength(1);
    expect(view.type('d', nowMs)).toMatchObject([{ id: 'q2', body: { answer: 'deny' } }]);
  });

  test('a paste of several reads is typed whole, and Ctrl-C leaves one whose end never comes', () => {
    const view = viewOf();
    for (const part of ['f', '\u001b[200~a', 'pi\u001b[2', '01~', '.']) view.type(part, nowMs);
    expect([view.filter, view.isTyping]).toEqual(['api.', true]);
    view.type('\u001b[200~x', nowMs);
    expect(view.type('\u0003', nowMs)).toEqual([{ do: 'quit' }]);
  });

  test('q and Ctrl-C quit', () => {
    expect(viewOf().press('q', later)).toEqual({ do: 'quit' });
    expect(viewOf().press('\u0003', later)).toEqual({ do: 'quit' });
  });
});

describe('what `sallyport watch` keeps', () => {
  test('is bounded, and refusals stay when much else passes', () => {
    const view = viewOf(request({ host: 'kept.example', verdict: 'refused' }));
    for (let at = 0; at < 5_000; at++) view.hear(request(), nowMs);
    expect(view.records.length).toBeLessThanOrEqual(2_000);
    expect([view.seen, view.refused]).toEqual([5_001, 1]);
    view.press('r', later);
    expect(hosts(view)).toEqual(['kept.example']);
  });

  test('the rate is that of the last whole seconds', () => {
    const view = new WatchView();
    for (let second = 0; second < 20; second++) for (let at = 0; at < 3; at++) view.hear(request(), second * 1000);
    expect(view.rate(20_000)).toBe(3);
    expect(view.rate(60_000)).toBe(0);
  });

  test('an answered question is gone, and a gateway that restarts begins anew', () => {
    const view = viewOf(question('q1'), question('q2'));
    view.hear({ event: 'answered', data: { id: 'q1', verdict: { granted: true, how: 'once' } } }, nowMs);
    expect(view.questions.map(({ id }) => id)).toEqual(['q2']);
    view.startAnew(nowMs);
    expect([view.questions, view.selected, view.gateway]).toEqual([[], null, null]);
  });

  test('a note of the journal is shown and is no request', () => {
    const view = viewOf({ event: 'request', data: { time: '', note: 'approval', text: 'approved once' } });
    expect([view.records.length, view.seen]).toEqual([1, 0]);
  });
});
