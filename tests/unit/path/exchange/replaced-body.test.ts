import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { ReplacedBody } from '../../../../src/path/exchange/replaced-body.ts';
import { RecordingWriter, withBody } from './scripted-exchange.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* kept(...chunks: string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

describe('an exchange whose body was kept elsewhere', () => {
  test('sends what was kept, in its own framing, and not a byte of what the client still says', async () => {
    const inner = withBody([Buffer.from('of the client')]);
    const exchange = new ReplacedBody(inner, { kind: 'length', bytes: 6 }, () => kept('jud', 'ged'));
    expect(exchange.requestFraming).toEqual({ kind: 'length', bytes: 6 });
    const to = new RecordingWriter();
    exchange.sendBody(to);
    await turn();
    expect([to.text, to.ended]).toEqual(['judged', null]);
    expect(inner.to).toBeNull();
  });

  test('opens what was kept only when it is asked for', () => {
    let opened = 0;
    const exchange = new ReplacedBody(withBody([]), { kind: 'chunked' }, () => {
      opened++;
      return kept();
    });
    expect(opened).toBe(0);
    exchange.sendBody(new RecordingWriter());
    expect(opened).toBe(1);
  });

  test('when it breaks off the upstream must not see a whole body', async () => {
    const reason = new Error('cannot be read');
    const exchange = new ReplacedBody(withBody([]), { kind: 'length', bytes: 6 }, async function* () {
      yield Buffer.from('jud');
      throw reason;
    });
    const to = new RecordingWriter();
    exchange.sendBody(to);
    await turn();
    expect([to.text, to.ended, to.failure]).toEqual(['jud', undefined, reason]);
  });

  test('answers the client as always', () => {
    const inner = withBody([]);
    const exchange = new ReplacedBody(inner, { kind: 'none' }, () => kept());
    const head = { status: 200, reason: '', headers: new HeaderList(), framing: { kind: 'none' } } as const;
    expect(exchange.respond(head)).toBe(inner.body);
    expect(exchange.form).toBe('payload');
  });
});
