import { describe, expect, test } from 'vitest';
import { parseGateway, parseListen, showEndpoint } from '../../../../src/sandbox/shim/places.ts';

describe('where the shim listens', () => {
  test('is a loopback address or a Unix socket', () => {
    expect(parseListen('127.0.0.1:3128')).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 3128 });
    expect(parseListen('127.9.0.1:0')).toEqual({ kind: 'tcp', host: '127.9.0.1', port: 0 });
    expect(parseListen('[::1]:3128')).toEqual({ kind: 'tcp', host: '::1', port: 3128 });
    expect(parseListen('unix:/run/shim.sock')).toEqual({ kind: 'unix', path: '/run/shim.sock' });
  });

  test.each([
    ...['0.0.0.0:3128', '[::]:3128', '192.0.2.1:3128', '[::ffff:192.0.2.1]:3128', '[2001:db8::1]:3128'],
    ...[
      'localhost:3128',
      '127.0.0.1',
      '127.0.0.1:99999',
      '127.1:3128',
      ':3128',
      'unix:shim.sock',
      '127.0.0.1.example:1',
    ],
  ])('is not %s', (text) => {
    expect(() => parseListen(text)).toThrow(`--listen ${text}`);
  });
});

describe('where the gateway is', () => {
  test('is a name or an address, and a port', () => {
    for (const text of ['gateway.example:8443', '192.0.2.7:8443', '[2001:db8::7]:8443']) {
      expect(showEndpoint(parseGateway(text))).toBe(text);
    }
  });

  test.each(['gateway.example', 'gateway:0', 'https://gateway:8443', '2001:db8::7:8443', 'a b:1', '[gateway]:1'])(
    'is not %s',
    (text) => {
      expect(() => parseGateway(text)).toThrow('is not a host and a port');
    },
  );
});
