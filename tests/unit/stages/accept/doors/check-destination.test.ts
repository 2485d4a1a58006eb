import { describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../../../src/kit/synthetic-address.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { RawRequest } from '../../../../../src/path/flow.ts';
import { madeRequest } from '../../../../../src/path/made-request.ts';
import { canonicalise } from '../../../../../src/stages/accept/accept-stage.ts';
import { parseDestination } from '../../../../../src/stages/accept/doors/check-destination.ts';
import { refusalOf } from '../../../../support/hand-made-flow.ts';

const host = 'api.example.com';
const { v4, v6 } = syntheticAddresses(host);

interface Asked extends Partial<RawRequest> {
  readonly host?: string;
}

/** By default a request for the host over TLS, at the address that the host has in a sandbox. */
function asked({ host: named = host, ...over }: Asked = {}): RawRequest {
  const made = madeRequest('https', 'GET', '/v1', new HeaderList().append('Host', named));
  return { ...made, sni: host, destination: `${v4}:443`, ...over };
}

const read = (over?: Asked) => canonicalise(asked(over));
const refused = (over: Asked) => refusalOf(() => read(over)).code;

describe('a transparent request is for the host it names, at the address this host has in a sandbox', () => {
  test('over IPv4 and IPv6, its port being that of the connection', () => {
    expect(read()).toMatchObject({ scheme: 'https', host, port: 443, path: '/v1', kind: 'http' });
    expect(read({ destination: `[${v6}]:8443` })).toMatchObject({ host, port: 8443 });
    expect(read({ destination: `${v4}:8443`, host: `${host}:8443` })).toMatchObject({ host, port: 8443 });
    expect(read({ scheme: 'http', sni: null, destination: `${v4}:80` })).toMatchObject({ scheme: 'http', port: 80 });
  });

  test('in upper case too, in Host and in the handshake', () => {
    expect(read({ host: 'API.Example.COM', sni: 'API.example.com' }).host).toBe(host);
  });

  test('in absolute form only when that says the same', () => {
    expect(read({ target: `https://${host}/v1` }).path).toBe('/v1');
    expect(refused({ target: `http://${host}/v1` })).toBe('mismatch.authority');
    expect(refused({ target: 'https://other.example.com/v1' })).toBe('mismatch.authority');
    expect(refused({ target: `https://${host}:444/v1` })).toBe('mismatch.authority');
    expect(refused({ target: `https://user@${host}/v1` })).toBe('malformed.host');
  });

  test('on HTTP/2 by its authority', () => {
    const over = { protocol: 'h2', headers: new HeaderList() } as const;
    expect(read({ ...over, authority: host }).host).toBe(host);
    expect(refused({ ...over, authority: 'other.example.com' })).toBe('mismatch.authority');
    expect(refused({ ...over, authority: null })).toBe('mismatch.authority');
  });
});

describe('nothing else passes for it', () => {
  test.each([
    ['an address of the world', { destination: '203.0.113.5:443' }],
    ['an IPv6 address of the world', { destination: '[2001:db8::5]:443' }],
    ['its own loopback', { destination: '127.0.0.1:443' }],
    ['the address of another name', { destination: `${syntheticAddresses('other.example.com').v4}:443` }],
    ['the IPv6 address of another name', { destination: `[${syntheticAddresses('other.example.com').v6}]:443` }],
    ['a handshake without a name', { sni: null }],
    ['an address as Host', { host: v4, sni: null, scheme: 'http', destination: `${v4}:80` }],
    ['an address as Host and in the handshake', { host: v4, sni: v4 }],
  ] satisfies [string, Asked][])('%s is an address', (_name, over) => {
    expect(refused(over)).toBe('target.literal-address');
  });

  test('the words say what was dialled and what to use', () => {
    const bare = refusalOf(() => read({ destination: '203.0.113.5:443' }));
    expect(bare).toMatchObject({ status: 403, message: '203.0.113.5 is an address: use the name of the host' });
    const foreign = refusalOf(() => read({ destination: `${syntheticAddresses('other.example.com').v4}:443` }));
    expect(foreign.message).toContain(`is not the address of ${host} here`);
  });

  test.each([
    ['another name in the handshake', { sni: 'other.example.com' }, 'mismatch.authority'],
    ['a dot behind the name in the handshake', { sni: `${host}.` }, 'malformed.host'],
    ['a dot behind the name in Host', { host: `${host}.` }, 'malformed.host'],
    ['another port in Host', { host: `${host}:444` }, 'mismatch.authority'],
    ['two Hosts', { headers: new HeaderList().append('Host', host).append('Host', host) }, 'mismatch.authority'],
    ['no Host', { headers: new HeaderList() }, 'mismatch.authority'],
    ['a CONNECT', { method: 'CONNECT', target: `${host}:443` }, 'malformed.syntax'],
  ] satisfies [string, Asked, string][])('%s is refused', (_name, over, code) => {
    expect(refused(over)).toBe(code);
  });
});

describe('a tunnel is held to the same', () => {
  test.each(['connect', 'tunnel'] as const)('asked for (%s) at its own address alone', (kind) => {
    const over = { kind, method: 'CONNECT', target: `${host}:443`, headers: new HeaderList() } as const;
    expect(read(over)).toMatchObject({ host, port: 443, kind });
    expect(refused({ ...over, destination: '203.0.113.5:443' })).toBe('target.literal-address');
    expect(refused({ ...over, target: 'other.example.com:443' })).toBe('target.literal-address');
  });
});

describe('at a door that gives every name its own address', () => {
  const doorAddress = '172.30.0.2';
  const there = (over: Asked = {}): Asked => ({ doorAddress, destination: `${doorAddress}:443`, ...over });

  test('that address is right for every name, its port being that of the connection', () => {
    expect(read(there())).toMatchObject({ host, port: 443 });
    expect(read(there({ host: 'other.example.com', sni: 'other.example.com' })).host).toBe('other.example.com');
    expect(read({ doorAddress: '2001:db8::2', destination: '[2001:db8::2]:8443' })).toMatchObject({ host, port: 8443 });
    const plain = there({ scheme: 'http', sni: null, destination: `${doorAddress}:80` });
    expect(read(plain)).toMatchObject({ scheme: 'http', port: 80 });
  });

  test.each([
    ['an address of the world that a rule led there', { destination: '203.0.113.5:443' }],
    ['the address that the name has elsewhere', { destination: `${v4}:443` }],
    ['the same over IPv6', { destination: `[${v6}]:443` }],
    ['the address of another door', { destination: '172.30.0.3:443' }],
    ['a handshake without a name', { sni: null }],
    ['the address of the door as Host', { host: doorAddress, sni: null, scheme: 'http' }],
    ['the address of the door as Host and in the handshake', { host: doorAddress, sni: doorAddress }],
  ] satisfies [string, Asked][])('%s is an address', (_name, over) => {
    expect(refused(there(over))).toBe('target.literal-address');
  });

  test.each([
    ['another name in the handshake', { sni: 'other.example.com' }],
    ['another port in Host', { host: `${host}:444` }],
    ['another name in the request line', { target: 'https://other.example.com/v1' }],
    ['a CONNECT', { method: 'CONNECT', target: `${host}:443` }],
  ] satisfies [string, Asked][])('%s is refused', (_name, over) => {
    expect(refused(there(over))).toMatch(/^(mismatch\.authority|malformed\.syntax)$/);
  });

  test('nothing of it holds at the door of a namespace', () => {
    expect(refused({ destination: `${doorAddress}:443` })).toBe('target.literal-address');
  });
});

describe('a destination', () => {
  test('is read back as our doors write it, and anything else is a fault of ours', () => {
    expect(parseDestination(`[${v6}]:443`)).toEqual({ address: v6, port: 443, isSynthetic: true });
    expect(parseDestination('192.0.2.1:80')).toEqual({ address: '192.0.2.1', port: 80, isSynthetic: false });
    expect(() => parseDestination('api.example.com:443')).toThrow('not a destination');
    expect(() => parseDestination('')).toThrow('not a destination');
  });
});
