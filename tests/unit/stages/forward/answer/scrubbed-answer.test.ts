import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Framing } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { RewrittenAnswer } from '../../../../../src/path/exchange/rewritten-answer.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { codingOf } from '../../../../../src/stages/forward/answer/decode-answer.ts';
import { ClientEnd, head, key, masked, scrubbed } from './scrub-ground.ts';

const chunked: Framing = { kind: 'chunked' };

describe('who rewrites an answer', () => {
  test('reads it as it came, and what it writes is searched', () => {
    const end = new ClientEnd('payload');
    let seen = '';
    const exchange = scrubbed(end, {
      view: (inner) =>
        new RewrittenAnswer(inner, () => ({
          feed: (chunk) => {
            seen += chunk.toString();
            return [];
          },
          end: () => [Buffer.from(`from ${seen} to ${key}`)],
        })),
    });
    const writer = exchange.respond(head(chunked));
    writer.write(Buffer.from(`opens with ${key}`));
    writer.end(null);
    expect(seen).toBe(`opens with ${key}`);
    expect(end.text).toBe(`from opens with ${masked} to ${masked}`);
    expect(end.over).toBe('whole');
  });
});

describe('the head of an answer', () => {
  // Where a credential was sent retry-exchange.ts has searched interim answers before; here nobody has.
  test('its reason and its fields are searched, and those of interim answers', () => {
    const informed: string[] = [];
    const end = Object.assign(new ClientEnd('payload'), {
      inform: (status: number, { values }: HeaderList) => void informed.push(`${status} ${values.join()}`),
    });
    const exchange = scrubbed(end);
    exchange.inform(103, HeaderList.from([['Link', `</?k=${key}>`]]));
    exchange.respond({ ...head({ kind: 'none' }, [['X-Echo', key]]), reason: `no ${key}` });
    expect(informed).toEqual([`103 </?k=${masked}>`]);
    expect([end.head?.reason, end.head?.headers.values]).toEqual([`no ${masked}`, [masked]]);
  });
});

describe('bytes that could be the beginning of a credential', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('wait a moment for what comes next, then they go if they are few', () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end).respond(head({ kind: 'until-close' }));
    writer.write(Buffer.from('a monk'));
    expect(end.text).toBe('a mon');
    vi.advanceTimersByTime(1000);
    expect(end.text).toBe('a monk');
    writer.write(Buffer.from(`ey; ${key.slice(0, 9)}`));
    vi.advanceTimersByTime(60_000);
    expect(end.text).toBe('a monkey; ');
    writer.write(Buffer.from(key.slice(9)));
    expect(end.text).toBe(`a monkey; ${masked}`);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('do not hold the head back, and are dropped when the answer breaks off', () => {
    const end = new ClientEnd('payload');
    const writer = scrubbed(end).respond(head({ kind: 'length', bytes: 20 }));
    writer.write(Buffer.from('key'));
    expect(end.flushed).toBe(true);
    writer.fail(new Error('gone'));
    vi.advanceTimersByTime(1000);
    expect([end.text, end.over]).toEqual(['', 'failed']);
  });
});

describe('the framing of a searched answer', () => {
  test('chunks are chunks, and trailers are searched', () => {
    const end = new ClientEnd('wire');
    const writer = scrubbed(end).respond(head(chunked));
    for (const byte of `3\r\nkey\r\nb\r\n-0123456789\r\n0\r\nX-Echo: ${key}\r\n\r\n`) writer.write(Buffer.from(byte));
    writer.end(null);
    expect(end.text).toBe(`e\r\n${masked}\r\n0\r\nX-Echo: ${masked}\r\n\r\n`);
    expect(end.head?.framing).toEqual(chunked);
  });

  test('a client that is slow is waited for', () => {
    const end = new ClientEnd('wire');
    const writer = scrubbed(end).respond(head(chunked));
    end.hasRoom = false;
    expect(writer.write(Buffer.from('5\r\nhello\r\n'))).toBe(false);
    let drained = false;
    writer.onDrain = () => {
      drained = true;
    };
    end.onDrain?.();
    expect(drained).toBe(true);
  });

  test('a length, a validator and a digest stay where nothing is taken off', () => {
    const end = new ClientEnd('wire');
    const fields: [string, string][] = [
      ['Content-Length', '2'],
      ['ETag', '"a"'],
      ['Content-Digest', 'sha-256=:AA==:'],
      ['Content-Encoding', 'identity'],
    ];
    scrubbed(end).respond(head({ kind: 'length', bytes: 2 }, fields));
    expect(end.head?.headers.names).toEqual(fields.map(([name]) => name));
  });
});

describe('codings', () => {
  test.each([
    [[['content-encoding', 'GZIP']], 'gzip'],
    [[['content-encoding', ' identity ']], null],
    [[], null],
    [[['content-encoding', 'identity, br']], 'br'],
    [[['content-encoding', 'UTF-8']], null],
    [[['content-encoding', 'none']], null],
    [[['content-encoding', 'zstd']], 'unreadable'],
    [[['content-encoding', 'constructor']], 'unreadable'],
    [
      [
        ['content-encoding', 'gzip'],
        ['content-encoding', 'gzip'],
      ],
      'unreadable',
    ],
    [[['grpc-encoding', 'identity']], null],
    [[['grpc-encoding', 'gzip']], 'unreadable'],
  ] as [[string, string][], string | null][])('%j is %s', (fields, coding) => {
    expect(codingOf(HeaderList.from(fields))).toBe(coding);
  });

  test('one that cannot be read is refused before anything is answered', () => {
    const end = new ClientEnd('wire');
    const exchange = scrubbed(end);
    expect(() => exchange.respond(head(chunked, [['Content-Encoding', 'zstd']]))).toThrow(Refusal);
    expect(end.answered).toBe(false);
  });
});
