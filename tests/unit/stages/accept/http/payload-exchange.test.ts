import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Exchange, Framing } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { RequestHead } from '../../../../../src/protocols/http1/request-head.ts';
import type { ExchangeHost } from '../../../../../src/stages/accept/http/exchange-host.ts';
import { H1Exchange } from '../../../../../src/stages/accept/http/h1-exchange.ts';
import { PayloadExchange } from '../../../../../src/stages/accept/http/payload-exchange.ts';
import { RecordingWriter, ScriptedExchange } from '../../../path/exchange/scripted-exchange.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A real exchange of HTTP/1.1 in payload form, and what happens on its connection. */
function onTheWire(framing: Framing = { kind: 'none' }) {
  const sent: string[] = [];
  const events: string[] = [];
  const socket = {
    write: (chunk: string | Buffer) => sent.push(chunk.toString('latin1')) > 0,
    destroy: () => events.push('destroy'),
  };
  const host: ExchangeHost = {
    socket: socket as unknown as Socket,
    maxBodyBytes: 0,
    carriesCredential: (key) => key === 'authorization',
    closing: false,
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    awaitBytes: () => {},
    awaitIntake: () => {},
    keepWaiting: (rest) => events.push(`waiting ${rest.toString('latin1')}`),
    takeWaiting: () => null,
    next: () => events.push('next'),
    endLingering: () => events.push('last'),
    release: () => null,
    reset: () => events.push('reset'),
  };
  const head = { framing, keepAlive: true, expectsContinue: false } as unknown as RequestHead;
  const wire = new H1Exchange(host, head, null);
  const exchange = wire.asPayload();
  return { wire, exchange, events, sent: () => sent.join('') };
}

function answer(exchange: Exchange, framing: Framing, pairs: [string, string][], status = 200) {
  return exchange.respond({ status, reason: 'OK', headers: HeaderList.from(pairs), framing });
}

describe('a request body is handed out without its framing', () => {
  test('chunks are taken off, however they are cut, and trailers come with the end', () => {
    const text = '4;ext=1\r\nWiki\r\n6\r\npedia \r\n0\r\nX-Sum: 7\r\n\r\n';
    for (let size = 1; size <= text.length; size++) {
      const { wire, exchange } = onTheWire({ kind: 'chunked' });
      const to = new RecordingWriter();
      exchange.sendBody(to);
      for (let at = 0; at < text.length; at += size) wire.onBytes(bytes(text.slice(at, at + size)));
      expect(to.text, `pieces of ${size}`).toBe('Wikipedia ');
      expect([to.ended?.get('x-sum'), to.failure]).toEqual(['7', null]);
    }
  });

  test('a chunked one without trailers, an empty one, and one with a length', () => {
    for (const [framing, text, expected] of [
      [{ kind: 'chunked' }, '3\r\nabc\r\n0\r\n\r\n', 'abc'],
      [{ kind: 'chunked' }, '0\r\n\r\n', ''],
      [{ kind: 'length', bytes: 3 }, 'abc', 'abc'],
      [{ kind: 'length', bytes: 0 }, '', ''],
      [{ kind: 'none' }, '', ''],
    ] as const) {
      const { wire, exchange } = onTheWire(framing);
      const to = new RecordingWriter();
      exchange.sendBody(to);
      if (text !== '') wire.onBytes(bytes(text));
      expect([to.text, to.ended], `${framing.kind} ${text}`).toEqual([expected, null]);
    }
  });

  test('what came before it was asked for is not lost, and what comes behind it is the next request', () => {
    const { wire, exchange, events } = onTheWire({ kind: 'chunked' });
    wire.onBytes(bytes('3\r\nabc\r\n'));
    const to = new RecordingWriter();
    exchange.sendBody(to);
    wire.onBytes(bytes('0\r\n\r\nGET /next'));
    expect([to.text, to.ended]).toEqual(['abc', null]);
    expect(events).toContain('waiting GET /next');
  });

  test('a reader that is full makes the client wait until it has drained', () => {
    const { wire, exchange, events } = onTheWire({ kind: 'chunked' });
    const to = new RecordingWriter();
    exchange.sendBody(to);
    events.length = 0;
    to.more = false;
    wire.onBytes(bytes('3\r\nabc\r\n3\r\ndef\r\n'));
    expect([to.text, events]).toEqual(['abcdef', ['pause']]);
    to.onDrain?.();
    expect(events).toEqual(['pause', 'resume']);
    // Framing alone is nothing that a reader could be full of.
    wire.onBytes(bytes('3\r'));
    expect(events).toEqual(['pause', 'resume']);
  });

  test('one that breaks its framing, or carries a credential at its end, fails the reader', () => {
    for (const text of ['3\r\nabcd\r\n', 'zz\r\n', '0\r\nAuthorization: x\r\n\r\n']) {
      const { wire, exchange } = onTheWire({ kind: 'chunked' });
      const to = new RecordingWriter();
      exchange.sendBody(to);
      wire.onBytes(bytes(text));
      expect(to.failure, text).toBeInstanceOf(Error);
      expect(to.ended, text).toBeUndefined();
    }
  });
});

describe('an answer gets the framing of HTTP/1.1, and one length only', () => {
  test('without a length it is sent in chunks, its trailers at the end', () => {
    const { exchange, sent, events } = onTheWire();
    const writer = answer(exchange, { kind: 'chunked' }, [['X-A', '1']]);
    writer.write(bytes('Wiki'));
    writer.write(bytes(''));
    writer.write(bytes('pedia'));
    writer.end(HeaderList.from([['X-Sum', '7']]));
    const head = 'HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
    expect(sent()).toBe(`${head}4\r\nWiki\r\n5\r\npedia\r\n0\r\nX-Sum: 7\r\n\r\n`);
    expect(events).toEqual(['next']);
  });

  test('one that came over HTTP/2 and told its length keeps it, and is not chunked', () => {
    const { exchange, sent } = onTheWire();
    const writer = answer(exchange, { kind: 'chunked' }, [['content-length', '4']]);
    writer.write(bytes('Wiki'));
    writer.end(HeaderList.from([['x-sum', '7']]));
    expect(sent()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nWiki');
  });

  test('a length that the head also tells stands there once, and the framing is what counts', () => {
    const { exchange, sent } = onTheWire();
    const twice: [string, string][] = [
      ['Content-Length', '9'],
      ['content-length', '10'],
    ];
    answer(exchange, { kind: 'length', bytes: 4 }, twice).end(null);
    expect(sent()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
  });

  test.each(['-1', '4, 4', '0x4', '1e3', '', ' 4', '9999999999999999'])('a told length of "%s" is none', (told) => {
    const inner = new ScriptedExchange('wire');
    answer(new PayloadExchange(inner), { kind: 'chunked' }, [['content-length', told]]);
    expect(inner.head?.framing).toEqual({ kind: 'chunked' });
    expect(inner.head?.headers.has('content-length')).toBe(false);
  });

  test('one that ends with the connection has no length, whatever it told', () => {
    const { exchange, sent, events } = onTheWire();
    const writer = answer(exchange, { kind: 'until-close' }, [['Content-Length', '9']]);
    writer.write(bytes('Wiki'));
    writer.end(null);
    expect(sent()).toBe('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nWiki');
    expect(events).toEqual(['last']);
  });

  test('without a body it says so, unless its status says it already', () => {
    for (const [status, told, expected] of [
      [200, [], 'Content-Length: 0\r\n'],
      [404, [['content-length', '0']], 'Content-Length: 0\r\n'],
      [204, [], ''],
      [304, [['Content-Length', '12']], ''],
    ] as [number, [string, string][], string][]) {
      const { exchange, sent, events } = onTheWire();
      answer(exchange, { kind: 'none' }, told, status).end(null);
      expect(sent()).toBe(`HTTP/1.1 ${status} OK\r\n${expected}\r\n`);
      expect(events).toEqual(['next']);
    }
  });

  test('one that breaks off is cut off, not ended', () => {
    const { exchange, sent, events } = onTheWire();
    const writer = answer(exchange, { kind: 'chunked' }, []);
    writer.write(bytes('Wiki'));
    writer.fail(new Error('upstream'));
    expect(sent()).not.toContain('0\r\n\r\n');
    expect(events).toEqual(['destroy']);
  });

  test('a slow client makes the upstream wait until it has drained', () => {
    const inner = new ScriptedExchange('wire');
    const writer = answer(new PayloadExchange(inner), { kind: 'chunked' }, []);
    let drains = 0;
    writer.onDrain = () => drains++;
    expect(writer.write(bytes('a'))).toBe(true);
    inner.body.more = false;
    expect(writer.write(bytes('b'))).toBe(false);
    inner.body.onDrain?.();
    expect([drains, writer.onDrain]).toEqual([1, inner.body.onDrain]);
    writer.flush();
    expect(inner.body.flushes).toBe(1);
  });
});

test('the conversation is in payload form from then on, and stays the one it was', () => {
  const { wire, exchange } = onTheWire();
  expect([wire.form, exchange.form]).toEqual(['wire', 'payload']);
  expect(exchange.asPayload()).toBe(exchange);
});
