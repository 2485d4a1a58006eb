import { describe, expect, test } from 'vitest';
import { ExchangeView } from '../../../../src/path/exchange/exchange-view.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { RecordingWriter, ScriptedExchange } from './scripted-exchange.ts';

describe('an exchange that stands in front of another is the other in everything', () => {
  test('what is known of the conversation is what is known now, not when the view was made', () => {
    const inner = new ScriptedExchange('payload', { kind: 'length', bytes: 7 });
    const view = new ExchangeView(inner);
    expect([view.form, view.requestFraming]).toEqual(['payload', { kind: 'length', bytes: 7 }]);
    expect([view.bytesIn, view.bytesOut, view.answered]).toEqual([0, 0, false]);
    Object.assign(inner, { bytesIn: 3, bytesOut: 4, answered: true });
    expect([view.bytesIn, view.bytesOut, view.answered]).toEqual([3, 4, true]);
  });

  test('who listens on the view hears the client go and the answer end', () => {
    const inner = new ScriptedExchange();
    const view = new ExchangeView(inner);
    const heard: string[] = [];
    expect([view.onAbandoned, view.onFinished]).toEqual([null, null]);
    view.onAbandoned = () => heard.push('abandoned');
    view.onFinished = () => heard.push('finished');
    inner.onAbandoned?.();
    inner.onFinished?.();
    expect(heard).toEqual(['abandoned', 'finished']);
    expect([view.onAbandoned, view.onFinished]).toEqual([inner.onAbandoned, inner.onFinished]);
  });

  test('every act reaches the other with what it was given', () => {
    const inner = new ScriptedExchange();
    const view = new ExchangeView(inner);
    const headers = HeaderList.from([['Link', '</a>']]);
    const body = Buffer.from('no');
    const to = new RecordingWriter();
    view.sendBody(to);
    expect(inner.to).toBe(to);
    const head = { status: 200, reason: 'OK', headers, framing: { kind: 'none' } } as const;
    expect(view.respond(head)).toBe(inner.body);
    expect(inner.head).toBe(head);
    expect(view.goRaw(to)).toBe(inner.body);
    view.inform(103, headers);
    view.answer(403, headers, body);
    view.abort();
    expect(inner.calls).toEqual([['goRaw', to], ['inform', 103, headers], ['answer', 403, headers, body], ['abort']]);
  });

  test('in payload form it stays itself; in wire form it is too late to change', () => {
    const view = new ExchangeView(new ScriptedExchange('payload'));
    expect(view.asPayload()).toBe(view);
    expect(() => new ExchangeView(new ScriptedExchange('wire')).asPayload()).toThrow('cannot change its form');
  });
});
