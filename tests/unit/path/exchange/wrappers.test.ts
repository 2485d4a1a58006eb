import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../../src/path/exchange/exchange.ts';
import { ExchangeView } from '../../../../src/path/exchange/exchange-view.ts';
import {
  addWrapper,
  fromClientToUpstream,
  payloadExchange,
  type Wrappable,
  wrappedExchange,
} from '../../../../src/path/exchange/wrappers.ts';
import { ScriptedExchange } from './scripted-exchange.ts';

class Named extends ExchangeView {
  readonly name: string;

  constructor(name: string, inner: Exchange) {
    super(inner);
    this.name = name;
  }

  /** From the upstream to the client. */
  get names(): string[] {
    return [this.name, ...(this.inner instanceof Named ? this.inner.names : [])];
  }

  get end(): Exchange {
    return this.inner instanceof Named ? this.inner.end : this.inner;
  }
}

function add(flow: Wrappable, name: (typeof fromClientToUpstream)[number]): void {
  addWrapper(flow, name, (inner) => new Named(name, inner));
}

function named(exchange: Exchange): Named {
  if (exchange instanceof Named) return exchange;
  throw new Error('nothing is around it');
}

describe('what stands between a client and its upstream', () => {
  test('has one order: an answer is searched for credentials at last, a body is searched before it is signed', () => {
    expect(fromClientToUpstream).toEqual([
      'scrubbed',
      'paced',
      'replaced',
      'rewritten',
      'explained',
      'guarded',
      'filled',
      'signed',
      'retried',
    ]);
  });

  test.each([
    ['as the stages come', ['paced', 'replaced', 'rewritten', 'guarded', 'signed', 'scrubbed', 'retried']],
    ['the other way round', [...fromClientToUpstream].reverse()],
    ['some of them', ['retried', 'guarded', 'scrubbed']],
  ] as const)('stands in it whoever came first: %s', (_, added) => {
    const flow = { exchange: new ScriptedExchange() };
    for (const name of added) add(flow, name);
    const inOrder = fromClientToUpstream.filter((name) => (added as readonly string[]).includes(name));
    expect(named(wrappedExchange(flow)).names).toEqual([...inOrder].reverse());
  });

  test('is nothing while nobody has added anything', () => {
    const exchange = new ScriptedExchange();
    expect(wrappedExchange({ exchange })).toBe(exchange);
  });

  test('is there once each: a second one of a kind is a fault', () => {
    const flow = { exchange: new ScriptedExchange() };
    add(flow, 'scrubbed');
    expect(() => add(flow, 'scrubbed')).toThrow('scrubbed already');
  });

  test('is asked of the end as it arrived, which nobody replaces', () => {
    const exchange = new ScriptedExchange();
    const flow = { exchange };
    add(flow, 'paced');
    wrappedExchange(flow);
    expect(flow.exchange).toBe(exchange);
  });

  test('stands around the payload form once a stage has asked for it, whatever is added later', () => {
    const wire = new ScriptedExchange('wire');
    const payload = new ScriptedExchange('payload');
    let asked = 0;
    wire.asPayload = () => {
      asked++;
      return payload;
    };
    const flow = { exchange: wire };
    add(flow, 'paced');
    expect(named(wrappedExchange(flow)).end).toBe(wire);
    expect(named(payloadExchange(flow)).end).toBe(payload);
    add(flow, 'scrubbed');
    const after = named(wrappedExchange(flow));
    expect([after.names, after.form]).toEqual([['paced', 'scrubbed'], 'payload']);
    expect(named(payloadExchange(flow)).end).toBe(payload);
    expect(asked).toBe(1);
  });
});
