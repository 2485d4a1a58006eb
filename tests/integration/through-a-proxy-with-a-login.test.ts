// The operator's own proxy is a real squid that asks for a login: it is asked for addresses that were judged here, so that names
// which lead inside lead nowhere, and nobody but it gets the login.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type FarNames, makeFarNames } from '../support/far-names.ts';
import { sendTunnelled } from '../support/raw-client.ts';
import { type Squid, startSquid } from '../support/squid.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const password = 'proxy-password-7f3a9c51';
const ca = makeTestCa();
const folder = mkdtempSync(join(tmpdir(), 'sallyport-proxy-'));
const passwordFile = join(folder, 'password');
let upstream: FakeUpstream;
let far: FarNames;
let squid: Squid;
let gateway: TestGateway;

const allow = ['far.example', 'refused.example', 'inside.example', 'localhost'].map((host) => ({ host }));
const withProxy = (proxy: unknown): Record<string, unknown> => ({
  allow,
  upstream: { ca: ca.path, proxy, resolve: { 'inside.example': upstream.address } },
});

beforeAll(async () => {
  writeFileSync(passwordFile, password, { mode: 0o600 });
  upstream = await startFakeUpstream(ca, ['far.example', 'inside.example'], (request, response) => {
    response.end(`you sent ${request.headers['x-note'] ?? 'nothing'}`);
  });
  far = makeFarNames(['far.example'], upstream.address);
  far.applyHere();
  squid = await startSquid({ username: 'gateway', password, farSide: upstream.address });
  gateway = await startTestGateway(withProxy(own()));
  await gateway.register();
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  far.remove();
  rmSync(folder, { recursive: true, force: true });
});

function own(more: Record<string, unknown> = {}): Record<string, unknown> {
  const login = { username: 'gateway', password: { file: passwordFile } };
  return { url: `http://127.0.0.1:${squid.port}`, ...login, ...more };
}

const untilLogged = (line: string): Promise<unknown> =>
  eventually(
    () => squid.log().at(-1) === line,
    () => `${line} in the log of squid, which ends with ${squid.log().at(-1)}`,
  );

const get = (host: string, fields = ''): string =>
  `GET / HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`;

async function follow(proxy: unknown): Promise<void> {
  gateway.writeConfig(withProxy(proxy));
  await gateway.gateway.reload();
}

describe('a proxy with a login', () => {
  test('is asked for the address that was judged, and gets the login', async () => {
    const answer = await sendTunnelled(gateway, 'far.example', get('far.example'));
    expect(answer.statuses).toEqual([200]);
    await untilLogged('200 CONNECT [3ffe::7]:443 gateway');
    expect(upstream.seen.at(-1)!.headers['proxy-authorization']).toBeUndefined();
    expect((await gateway.journal()).at(-1)).toMatchObject({
      verdict: 'allowed',
      upstream: `[3ffe::7]:443 by proxy 127.0.0.1:${squid.port}`,
    });
  });

  test('gets no name that leads inside: the guard holds, and so does learning', async () => {
    const before = squid.log().length;
    const answer = await sendTunnelled(gateway, 'localhost', get('localhost'));
    expect([answer.statuses, answer.code]).toEqual([[502], 'upstream.address-refused']);
    expect(squid.log()).toHaveLength(before);
    const controls = (await gateway.admin('GET', '/internal/health')).json<{
      controls: { name: string; live: boolean }[];
    }>();
    expect(controls.controls.find(({ name }) => name === 'addresses')).toMatchObject({ live: true });
  });

  test('is left out for what the operator has pinned, and for the exceptions', async () => {
    const before = squid.log().length;
    expect((await sendTunnelled(gateway, 'inside.example', get('inside.example'))).statuses).toEqual([200]);
    await follow(own({ except: ['far.example'] }));
    await sendTunnelled(gateway, 'far.example', get('far.example'));
    expect(squid.log()).toHaveLength(before);
    await follow(own());
  });

  test('shows its password to nobody else', async () => {
    const note = `X-Note: ${password}\r\n`;
    const refused = await sendTunnelled(gateway, 'inside.example', get('inside.example', note));
    expect(refused.code).toBe('secret.value-outbound');
    expect(JSON.stringify(await gateway.journal())).not.toContain(password);
    expect((await gateway.admin('GET', '/internal/health')).body).not.toContain(password);
  });

  test('that does not take the login, or asks for one that is not there, is said in words', async () => {
    await follow(`http://127.0.0.1:${squid.port}`);
    const without = await sendTunnelled(gateway, 'far.example', get('far.example'));
    expect([without.statuses, without.code]).toEqual([[502], 'upstream.proxy']);
    expect(without.text).toContain('the upstream proxy asks for a login');
    await follow(own({ username: 'somebody' }));
    const wrong = await sendTunnelled(gateway, 'far.example', get('far.example'));
    expect(wrong.text).toContain('the upstream proxy does not take its login');
    await follow(own({ password: { file: join(folder, 'none') } }));
    const none = await sendTunnelled(gateway, 'far.example', get('far.example'));
    expect(none.text).toContain('the login of the upstream proxy cannot be had');
    await follow(own());
  });

  test('may insist on names, and then says what is lost', async () => {
    await follow(own({ connect: 'name' }));
    expect((await sendTunnelled(gateway, 'far.example', get('far.example'))).statuses).toEqual([200]);
    await untilLogged('200 CONNECT far.example:443 gateway');
    const { body } = await gateway.admin('GET', '/internal/health');
    expect(body).toContain('names are resolved by the upstream proxy');
    await follow(own());
  });

  test('is the one of the usual variables, with its login and its exceptions', async () => {
    const url = `http://gateway:${encodeURIComponent(password)}@127.0.0.1:${squid.port}`;
    Object.assign(process.env, { https_proxy: url, no_proxy: 'other.example' });
    try {
      await follow('system');
      expect((await sendTunnelled(gateway, 'far.example', get('far.example'))).statuses).toEqual([200]);
      await untilLogged('200 CONNECT [3ffe::7]:443 gateway');
      const before = squid.log().length;
      process.env.no_proxy = 'localhost, .example:443';
      await follow('system');
      await sendTunnelled(gateway, 'far.example', get('far.example'));
      expect(squid.log()).toHaveLength(before);
    } finally {
      delete process.env.https_proxy;
      delete process.env.no_proxy;
      await follow(own());
    }
  });
});
