import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { sendPlain, sendTunnelled, type TunnelOptions } from '../../support/raw-client.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const get = (host: string, target = '/'): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

async function ask(request: string, options: TunnelOptions = {}): Promise<string> {
  ground.upstream.forget();
  const answer = await sendTunnelled(ground.gateway, 'api.example', request, options);
  expect(answer.closed).toBe(true);
  return `${answer.statuses.join(' ')} ${answer.code ?? 'passed'}`;
}

async function isRefused(verdict: string, request: string, options: TunnelOptions = {}): Promise<void> {
  expect(await ask(request, options)).toBe(verdict);
  expect(ground.upstream.bytes).toBe('');
  expect(ground.upstream.connections).toBe(0);
}

describe('CONNECT, the handshake and the request must name one host', () => {
  const mismatch = '400 mismatch.authority';

  test.each<[string, string, TunnelOptions]>([
    ['the handshake names another', get('api.example'), { sni: 'open.example' }],
    ['Host names another', get('open.example'), {}],
    ['CONNECT names another', get('api.example'), { connect: 'open.example:443' }],
    ['CONNECT names the one with the credential', get('open.example'), { sni: 'open.example' }],
    ['the handshake names a host below', get('api.example'), { sni: 'x.api.example' }],
    ['the URL names another', get('api.example', 'https://open.example/'), {}],
    ['the URL is plain inside TLS', get('api.example', 'http://api.example/'), {}],
    ['Host has another port', get('api.example:8443'), {}],
    ['the URL has another port', get('api.example', 'https://api.example:8443/'), {}],
  ])('%s', (_what, request, options) => isRefused(mismatch, request, options));

  test.each([
    ['a user name', 'open.example@api.example'],
    ['a user name before the port', 'api.example:443@open.example'],
    ['an empty port', 'api.example:'],
    ['a port with a zero before it', 'api.example:0443'],
    ['a port past the last', 'api.example:65979'],
    ['a port with a sign', 'api.example:+443'],
    ['a trailing dot', 'api.example.'],
    ['a leading dot', '.api.example'],
    ['an empty label', 'api..example'],
    ['two hosts', 'api.example,open.example'],
    ['a path', 'api.example/open.example'],
    ['a fragment', 'api.example#open.example'],
    ['a backslash', 'api.example\\open.example'],
    ['an encoded letter', '%61pi.example'],
    ['an encoded letter beside a punycode label', 'xn--bcher-kva.exampl%65'],
    ['nothing', ''],
    ['a space inside', 'api.example open.example'],
    ['bytes that are no UTF-8', 'api\xff.example'],
  ])('Host with %s', (_what, host) => isRefused('400 malformed.host', get(host)));

  test.each([
    ['a user name', 'https://api.example@open.example/', '400 malformed.host'],
    ['a user name and a password', 'https://a:b@api.example/', '400 malformed.host'],
    ['no host', 'https:///path', '400 malformed.host'],
  ])('a URL with %s', (_what, target, verdict) => isRefused(verdict, get('api.example', target)));

  test.each([
    ['a user name', 'x@api.example:443', 'malformed.host'],
    ['no port', 'api.example', 'malformed.host'],
    ['port 0', 'api.example:0', 'malformed.host'],
    ['a trailing dot', 'api.example.:443', 'malformed.host'],
    ['a URL', 'https://api.example/', 'malformed.host'],
  ])('CONNECT to %s', async (_what, authority, code) => {
    const answer = await sendPlain(ground.gateway, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    expect(answer.code).toBe(code);
    expect(answer.statuses).toHaveLength(1);
  });

  test('CONNECT with another Host beside it', async () => {
    const answer = await sendPlain(ground.gateway, 'CONNECT api.example:443 HTTP/1.1\r\nHost: open.example\r\n\r\n');
    expect([answer.statuses, answer.code, answer.closed]).toEqual([[400], 'mismatch.authority', true]);
  });

  test('a plain request whose URL and Host differ', async () => {
    const answer = await sendPlain(ground.gateway, get('api.example', 'http://open.example/'));
    expect([answer.statuses, answer.code, answer.closed]).toEqual([[400], 'mismatch.authority', true]);
  });
});

describe('HTTP/2 says it once, too', () => {
  test.each<[string, Record<string, string>, string]>([
    [':authority names another', { ':authority': 'open.example' }, 'mismatch.authority'],
    [':authority has another port', { ':authority': 'api.example:8443' }, 'mismatch.authority'],
    ['Host names another', { host: 'open.example' }, 'mismatch.authority'],
    [':authority is an address', { ':authority': '127.0.0.1' }, 'target.literal-address'],
  ])('%s', async (_what, fields, code) => {
    ground.upstream.forget();
    const session = await openHttp2(ground.gateway, 'api.example', { caPath: ground.gateway.caPath });
    const refused = await askHttp2(session, { ':path': '/', ':authority': 'api.example', ...fields });
    expect(refused.headers['x-sallyport-refused']).toBe(code);
    expect(ground.upstream.bytes).toBe('');
    const passed = await askHttp2(session, { ':path': '/', ':authority': 'api.example' });
    expect(passed.headers[':status']).toBe(200);
    session.destroy();
  });
});

describe('one host in another spelling is that host, and leaves in its one spelling', () => {
  test.each<[string, string, TunnelOptions]>([
    ['as it is', get('api.example'), {}],
    ['without a name in the handshake', get('api.example'), { sni: null }],
    ['the handshake in capitals', get('api.example'), { sni: 'API.Example' }],
    ['Host in capitals', get('API.EXAMPLE'), {}],
    ['CONNECT in capitals', get('api.example'), { connect: 'Api.Example:443' }],
    ['with its port', get('api.example:443'), {}],
    ['as a URL', get('api.example', 'https://api.example/'), {}],
    ['in full-width letters', get('\xef\xbd\x81pi.example'), {}],
    ['with an ideographic full stop', get('api\xe3\x80\x82example'), {}],
  ])('%s', async (_what, request, options) => {
    expect(await ask(request, options)).toBe('200 passed');
    expect(ground.upstream.requests[0]!.head).toContain('\r\nHost: api.example\r\n');
    expect(ground.upstream.requests[0]!.head).toContain(plantedKey);
  });
});
