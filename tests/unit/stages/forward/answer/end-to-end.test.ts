import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { endToEnd } from '../../../../../src/stages/forward/answer/end-to-end.ts';

const kept = (...pairs: [string, string][]): string[] => endToEnd(HeaderList.from(pairs)).names;

describe('the fields of an answer that travel on', () => {
  test('keep their order, case and repetition', () => {
    expect(kept(['Set-Cookie', 'a'], ['ETag', 'x'], ['set-cookie', 'b'])).toEqual(['Set-Cookie', 'ETag', 'set-cookie']);
  });

  test('are not those of the hop', () => {
    expect(
      kept(
        ['Connection', 'keep-alive'],
        ['Keep-Alive', 'timeout=5'],
        ['Transfer-Encoding', 'chunked'],
        ['TE', 'trailers'],
        ['Upgrade', 'h2c'],
        ['Proxy-Authenticate', 'Basic'],
        ['Proxy-Connection', 'x'],
        ['Trailer', 'X-Sum'],
        ['Content-Length', '5'],
      ),
    ).toEqual(['Trailer', 'Content-Length']);
  });

  test('are not those that Connection names, in any case and any of its lines', () => {
    expect(
      kept(['connection', 'X-One, close'], ['Connection', 'x-TWO'], ['x-one', '1'], ['X-Two', '2'], ['X-Three', '3']),
    ).toEqual(['X-Three']);
  });

  test('include the length, whatever Connection says', () => {
    expect(kept(['Connection', 'content-length, host'], ['Content-Length', '5'])).toEqual(['Content-Length']);
  });
});
