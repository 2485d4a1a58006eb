import { describe, expect, test } from 'vitest';
import { connectionNames, isHopByHop } from '../../../../src/protocols/http/hop-by-hop.ts';

describe('fields of one connection are told from fields of the message', () => {
  test.each([
    'connection',
    'keep-alive',
    'proxy-authorization',
    'te',
    'transfer-encoding',
    'upgrade',
    'http2-settings',
  ])('%s ends at the next hop', (key) => expect(isHopByHop(key)).toBe(true));

  test.each(['content-length', 'trailer', 'authorization', 'content-type', 'sec-websocket-key', 'set-cookie'])(
    '%s goes on',
    (key) => expect(isHopByHop(key)).toBe(false),
  );

  test('every field that any Connection header names is found, whatever its case and spacing', () => {
    expect([...connectionNames(['X-A ,\tx-b', 'Upgrade,, X-C'])]).toEqual(['x-a', 'x-b', 'upgrade', 'x-c']);
  });

  test('the length of a body and the host cannot be named away', () => {
    expect(connectionNames(['Content-Length, host, close, keep-alive']).size).toBe(0);
  });
});
