import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, RawRequest } from '../../../../src/path/flow.ts';
import { Refusal } from '../../../../src/path/refusal.ts';
import { canonicalise, createAcceptStage } from '../../../../src/stages/accept/accept-stage.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf } from '../../../support/hand-made-flow.ts';

interface Made extends Partial<Omit<RawRequest, 'headers'>> {
  readonly headers?: readonly (readonly [string, string])[];
}

function raw({ headers, ...over }: Made = {}): RawRequest {
  return {
    protocol: 'http/1.1',
    scheme: 'https',
    method: 'GET',
    target: '/a',
    authority: null,
    headers: HeaderList.from(headers ?? [['Host', 'api.example']]),
    connect: 'api.example:443',
    sni: 'api.example',
    kind: 'http',
    hiddenName: false,
    destination: null,
    fault: null,
    ...over,
  };
}

const read = (made?: Made): CanonicalRequest => canonicalise(raw(made));
const codeOf = (made?: Made): string => refusalOf(() => read(made)).code;

describe('a request inside a tunnel goes where the tunnel goes', () => {
  test('as it is', () => {
    expect(read()).toEqual({
      scheme: 'https',
      host: 'api.example',
      port: 443,
      method: 'GET',
      path: '/a',
      rawPath: '/a',
      query: null,
      kind: 'http',
    });
  });

  test('the port is the one of the tunnel', () => {
    expect(read({ connect: 'api.example:8443' }).port).toBe(8443);
    expect(read({ connect: 'api.example:8443', headers: [['Host', 'api.example:8443']] }).port).toBe(8443);
    expect(codeOf({ connect: 'api.example:8443', headers: [['Host', 'api.example:443']] })).toBe('mismatch.authority');
  });

  test('a handshake without a name is not another name', () => {
    expect(read({ sni: null }).host).toBe('api.example');
  });

  test.each<[string, Made]>([
    ['SNI', { sni: 'other.example' }],
    ['Host', { headers: [['Host', 'other.example']] }],
    ['CONNECT', { connect: 'other.example:443' }],
    ['the URL', { target: 'https://other.example/' }],
    ['the scheme of the URL', { target: 'http://api.example/' }],
    [
      'a second Host',
      {
        headers: [
          ['Host', 'api.example'],
          ['host', 'other.example'],
        ],
      },
    ],
    [
      'a second Host that agrees',
      {
        headers: [
          ['Host', 'api.example'],
          ['host', 'api.example'],
        ],
      },
    ],
    ['no Host', { headers: [] }],
  ])('%s must agree', (_what, made) => {
    expect(codeOf(made)).toBe('mismatch.authority');
  });

  test('plain http inside a CONNECT is plain http', () => {
    expect(read({ scheme: 'http', sni: null, connect: 'api.example:80' })).toMatchObject({ scheme: 'http', port: 80 });
    expect(read({ scheme: 'http', sni: null })).toMatchObject({ scheme: 'http', port: 443 });
  });
});

describe('a request at the door itself', () => {
  const door = { connect: null, sni: null, scheme: 'http' } as const;

  test('names its place in full', () => {
    expect(read({ ...door, target: 'http://api.example/a?b' })).toMatchObject({
      scheme: 'http',
      port: 80,
      path: '/a',
      query: 'b',
    });
    expect(read({ ...door, target: 'HTTPS://API.example:8443' })).toMatchObject({
      scheme: 'https',
      port: 8443,
      path: '/',
      rawPath: '/',
    });
    expect(read({ ...door, target: 'http://api.example?b' })).toMatchObject({ path: '/', rawPath: '/', query: 'b' });
  });

  test('a bare path is told how to use a proxy', () => {
    const refusal = refusalOf(() => read({ ...door, target: '/a' }));
    expect(refusal.code).toBe('malformed.path');
    expect(refusal.hint).toContain('HTTPS_PROXY');
  });

  test.each(['http://u@api.example/', 'http://u:p@api.example/', 'http:///a', 'http://api.example:/'])(
    '%s',
    (target) => {
      expect(codeOf({ ...door, target })).toBe('malformed.host');
    },
  );

  test.each(['ftp://api.example/', 'api.example/', '*', 'http:/api.example', 'http:api.example', 'javascript:x'])(
    '%s',
    (target) => {
      expect(codeOf({ ...door, target })).toBe('malformed.path');
    },
  );
});

describe('HTTP/2', () => {
  const h2 = { protocol: 'h2', authority: 'api.example', headers: [] } as const;

  test('needs no Host, and one that is there must agree', () => {
    expect(read(h2).host).toBe('api.example');
    expect(read({ ...h2, headers: [['host', 'API.example']] }).host).toBe('api.example');
    expect(codeOf({ ...h2, headers: [['host', 'other.example']] })).toBe('mismatch.authority');
    expect(codeOf({ ...h2, authority: 'other.example' })).toBe('mismatch.authority');
    expect(codeOf({ ...h2, authority: null })).toBe('mismatch.authority');
  });
});

describe('methods, upgrades and tunnels', () => {
  test.each(['get', 'Get', 'CONNECT', '', 'A B', '-X', 'G\u0130T', 'X'.repeat(33)])(
    'the method %j is not served',
    (method) => {
      expect(codeOf({ method })).toBe('malformed.syntax');
    },
  );

  test('unusual methods are methods', () => {
    for (const method of ['PROPFIND', 'M-SEARCH', 'QUERY']) expect(read({ method }).method).toBe(method);
  });

  const upgrade = (...more: [string, string][]): [string, string][] => [
    ['Host', 'api.example'],
    ['Connection', 'Upgrade'],
    ...more,
  ];

  test('a WebSocket is one when Connection says so', () => {
    expect(read({ headers: upgrade(['Upgrade', 'websocket']) }).kind).toBe('websocket');
    const noBody = upgrade(['Upgrade', 'websocket'], ['Content-Length', '0']);
    expect(read({ headers: noBody }).kind).toBe('websocket');
    expect(
      read({
        headers: [
          ['Host', 'api.example'],
          ['Upgrade', 'websocket'],
        ],
      }).kind,
    ).toBe('http');
    expect(read({ headers: upgrade(['Upgrade', 'h2c']) }).kind).toBe('http');
  });

  test.each<[string, Made, string]>([
    ['to another protocol', { headers: upgrade(['Upgrade', 'tls/1.0']) }, 'malformed.syntax'],
    ['to one of two', { headers: upgrade(['Upgrade', 'websocket, tls']) }, 'malformed.syntax'],
    ['by POST', { method: 'POST', headers: upgrade(['Upgrade', 'websocket']) }, 'malformed.syntax'],
    [
      'with a zero in another spelling',
      { headers: upgrade(['Upgrade', 'websocket'], ['Content-Length', '00']) },
      'malformed.framing',
    ],
    ['with a length', { headers: upgrade(['Upgrade', 'websocket'], ['Content-Length', '1']) }, 'malformed.framing'],
    [
      'with chunks',
      { headers: upgrade(['Upgrade', 'websocket'], ['Transfer-Encoding', 'chunked']) },
      'malformed.framing',
    ],
  ])('an upgrade %s is refused', (_what, made, code) => {
    expect(codeOf(made)).toBe(code);
  });

  test('CONNECT needs a port, and a Host beside it must agree', () => {
    const connect = {
      kind: 'connect',
      method: 'CONNECT',
      connect: null,
      sni: null,
      target: 'API.example:443',
    } as const;
    expect(read({ ...connect, headers: [] })).toMatchObject({ kind: 'connect', host: 'api.example', port: 443 });
    expect(read({ ...connect, headers: [['Host', 'api.example']] }).host).toBe('api.example');
    expect(codeOf({ ...connect, headers: [['Host', 'other.example']] })).toBe('mismatch.authority');
    expect(codeOf({ ...connect, target: 'api.example' })).toBe('malformed.host');
    expect(codeOf({ ...connect, target: '1.1.1.1:443' })).toBe('target.literal-address');
  });

  test('an undecrypted tunnel is what its CONNECT said', () => {
    expect(read({ kind: 'tunnel', method: 'CONNECT', connect: 'api.example:8443' })).toMatchObject({
      kind: 'tunnel',
      host: 'api.example',
      port: 8443,
    });
  });
});

describe('the stage', () => {
  const stage = createAcceptStage('sallyport-0123456789ab');
  const flowWith = (request: Partial<RawRequest>) =>
    acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example/a'), { ...raw(), ...request });

  test('refuses with what could not be read, before anything else', () => {
    const fault = new Refusal('malformed.framing', 'x');
    expect(refusalOf(() => stage.run(flowWith({ fault, target: '/../' })))).toBe(fault);
  });

  test('knows its own name in Via, and no other', () => {
    const via = (value: string) =>
      flowWith({
        headers: HeaderList.from([
          ['Host', 'api.example'],
          ['Via', value],
        ]),
      });
    expect(refusalOf(() => stage.run(via('1.1 x, 1.1 sallyport-0123456789ab'))).code).toBe('loop.detected');
    expect(stage.run(via('1.1 other'))).toMatchObject({ canonical: { host: 'api.example' } });
  });
});
