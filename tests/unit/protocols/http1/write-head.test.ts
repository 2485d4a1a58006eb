import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyReader } from '../../../../src/protocols/http1/body-reader.ts';
import { Http1Error } from '../../../../src/protocols/http1/http1-error.ts';
import { parseRequestHead } from '../../../../src/protocols/http1/request-head.ts';
import { encodeChunk, encodeMessage, lastChunk, renderHead } from '../../../../src/protocols/http1/write-head.ts';

const startLine = 'GET /x HTTP/1.1';

describe('a head is written as given', () => {
  test('names and values in their order and case, then a blank line', () => {
    const head = renderHead(startLine, ['Host', 'x-Y'], ['a.example', 'caf\xe9']);
    expect(head).toBe('GET /x HTTP/1.1\r\nHost: a.example\r\nx-Y: caf\xe9\r\n\r\n');
  });

  test('head and body make one buffer', () => {
    const head = renderHead(startLine, ['X'], ['\xe9']);
    const message = encodeMessage(head, Buffer.from([0, 255]));
    expect(message).toEqual(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from([0, 255])]));
    expect(encodeMessage(head, null).length).toBe(head.length);
  });

  test('whatever is written is read back as the same fields', () => {
    const name = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,20}$/).map((text) => `X-${text}`);
    const value = fc
      .stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,30}$/)
      .map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (fields) => {
        const names = fields.map(([name]) => name);
        const values = fields.map(([, value]) => value);
        const parsed = parseRequestHead(encodeMessage(renderHead(startLine, names, values), null), 0, 65536);
        expect(parsed?.names).toEqual(names);
        expect(parsed?.values).toEqual(values);
      }),
      { seed: 20260727, numRuns: 300 },
    );
  });
});

describe('nothing that would be read back as another field is written', () => {
  const injections = ['\r', '\n', '\0', '\r\nX-Injected: 1', '\x0b', '\x7f'];
  // Latin-1 keeps the low byte alone: these would become LF, CR and NUL on the wire.
  const wide = ['\u010a', '\u010d', '\u0100', '\u560a', '\u{1f40a}'];

  test.each([...injections, ...wide])('%j in a value', (bad) => {
    expect(() => renderHead(startLine, ['X'], [`a${bad}b`])).toThrow(Http1Error);
    expect(() => renderHead(startLine, ['X'], [bad])).toThrow(Http1Error);
    expect(() => lastChunk({ names: ['X'], values: [`a${bad}`] })).toThrow(Http1Error);
  });

  test.each([...injections, ...wide, ' ', ':', '\t', '\xe9', '('])('%j in a name', (bad) => {
    expect(() => renderHead(startLine, [`X${bad}Y`], ['a'])).toThrow(Http1Error);
    expect(() => renderHead(startLine, [`X${bad}`], ['a'])).toThrow(Http1Error);
    expect(() => lastChunk({ names: [`X${bad}`], values: ['a'] })).toThrow(Http1Error);
  });

  test('an empty name', () => {
    expect(() => renderHead(startLine, [''], ['a'])).toThrow(Http1Error);
  });

  test.each([...injections, ...wide])('%j in the start line', (bad) => {
    expect(() => renderHead(`GET /${bad} HTTP/1.1`, [], [])).toThrow(Http1Error);
  });

  test('the refusal names the field and never its value', () => {
    expect(() => renderHead(startLine, ['X-Key'], ['sk-secret\n'])).toThrow(/X-Key/);
    expect(() => renderHead(startLine, ['X-Key'], ['sk-secret\n'])).not.toThrow(/sk-secret/);
  });
});

describe('chunks are written so that they are read back', () => {
  test('payloads and trailers survive', () => {
    const parts = [
      ...encodeChunk(Buffer.from('hello')),
      ...encodeChunk(Buffer.alloc(0)),
      ...encodeChunk(Buffer.alloc(300, 'x')),
      ...encodeChunk(Buffer.alloc(70_000, 'y')),
      lastChunk({ names: ['grpc-status'], values: ['0'] }),
    ];
    const wire = Buffer.concat(parts);
    const reader = new BodyReader({ kind: 'chunked' });
    const slices: Buffer[] = [];
    expect(reader.feedPayload(wire, 0, (slice) => slices.push(slice))).toBe(wire.length);
    expect(Buffer.concat(slices).toString()).toBe(`hello${'x'.repeat(300)}${'y'.repeat(70_000)}`);
    expect(reader.trailers).toEqual({ names: ['grpc-status'], keys: ['grpc-status'], values: ['0'] });
  });

  test('an empty payload writes nothing, because it would end the message', () => {
    expect(encodeChunk(Buffer.alloc(0))).toEqual([]);
  });

  test('an event of a stream is one write, and of a large payload only the beginning is copied', () => {
    expect(encodeChunk(Buffer.from('hello')).map(String)).toEqual(['5\r\nhello\r\n']);
    const payload = Buffer.alloc(64 * 1024, 'x');
    const [begin, rest] = encodeChunk(payload);
    expect(begin!.length).toBeLessThan(10 * 1024);
    expect(rest!.buffer).toBe(payload.buffer);
  });

  test('the end of a message without trailers', () => {
    expect(lastChunk(null).toString()).toBe('0\r\n\r\n');
    expect(lastChunk({ names: [], values: [] }).toString()).toBe('0\r\n\r\n');
  });

  test.each(['Authorization', 'content-length', 'Proxy-Authorization'])('%s is not written after a body', (name) => {
    expect(() => lastChunk({ names: [name], values: ['1'] })).toThrow(Http1Error);
  });
});
