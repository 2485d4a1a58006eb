// A page of another site is open in the same browser, which sends along whatever cookie belongs here: it must read nothing and
// change nothing, under our own name, under a name of its own that points here, or from another port of this machine.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askPage, type PageClient } from '../../support/page-client.ts';
import { type PageGround, startPageGround } from '../../support/page-ground.ts';

let ground: PageGround;
let page: PageClient;
let port: string;

beforeAll(async () => {
  ground = await startPageGround();
  page = await ground.enter();
  port = new URL(ground.dashboard.origin).port;
});

afterAll(() => ground.stop());

describe('whom it is meant for', () => {
  test('a name that points here gets an empty no, with the right cookie too', async () => {
    for (const host of [
      `evil.example:${port}`,
      'evil.example',
      '127.0.0.1',
      '127.0.0.1:1',
      `localhost.evil.example:${port}`,
      `127.0.0.1:${port}.evil.example`,
      `evil@127.0.0.1:${port}`,
      `0.0.0.0:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
    ]) {
      for (const path of ['/', '/page.js', '/api/state', '/api/events', '/enter?token=x']) {
        const reply = await page.get(path, { host });
        expect([host, path, reply.status, reply.body]).toEqual([host, path, 403, '']);
      }
    }
    expect((await page.post('/api/questions/q1', { answer: 'deny' }, { host: 'evil.example' })).status).toBe(403);
  });

  test('every name that a person at this machine has for it is served', async () => {
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
      expect((await page.get('/api/state', { host })).status).toBe(200);
  });

  test('two hosts in one head, a target of another host, and no host at all are refused', async () => {
    const cookie = `Cookie: ${page.cookie}\r\n`;
    const own = `Host: 127.0.0.1:${port}\r\n`;
    for (const head of [
      `GET /api/state HTTP/1.1\r\n${own}Host: evil.example\r\n${cookie}`,
      `GET /api/state HTTP/1.1\r\nHost: evil.example\r\n${own}${cookie}`,
      `GET http://evil.example/api/state HTTP/1.1\r\n${own}${cookie}`,
      `GET http://127.0.0.1:${port}/api/state HTTP/1.1\r\n${own}${cookie}`,
      `GET /api/state HTTP/1.1\r\n${cookie}`,
      `GET /api/state HTTP/1.0\r\n${cookie}`,
    ])
      expect(await sendRaw(`${head}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 40[03] /);
  });
});

describe('where it comes from', () => {
  test('another origin reads nothing: another site, another port, another scheme, none', async () => {
    for (const origin of [
      'http://evil.example',
      'null',
      'http://127.0.0.1:1',
      `https://127.0.0.1:${port}`,
      'http://127.0.0.1',
    ]) {
      expect((await page.get('/api/state', { origin })).status).toBe(403);
      expect((await page.post('/api/questions/q1', { answer: 'deny' }, { origin })).status).toBe(403);
    }
  });

  test('what the browser itself calls cross-site or same-site gets nothing, not even a picture', async () => {
    for (const site of ['cross-site', 'same-site', 'something-new']) {
      for (const path of ['/', '/page.js', '/api/events', '/enter?token=x'])
        expect((await page.get(path, { 'sec-fetch-site': site })).status).toBe(403);
    }
    expect((await page.get('/', { 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  test('no answer allows another origin to read it, or anybody to frame it', async () => {
    for (const path of ['/', '/page.js', '/api/state', '/nothing']) {
      const { headers } = await page.get(path);
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
    }
    const asked = { 'access-control-request-method': 'POST', origin: ground.dashboard.origin, cookie: page.cookie };
    const flight = await askPage(ground.dashboard.origin, '/api/state', { method: 'OPTIONS', headers: asked });
    expect([flight.status, flight.headers['access-control-allow-origin']]).toEqual([405, undefined]);
  });
});

describe('what may change anything', () => {
  const deny = { answer: 'deny' };

  test('the cookie alone, another session’s word, and a wrong one change nothing and read nothing', async () => {
    const other = await ground.enter();
    for (const csrf of [undefined, '', 'wrong', other.word, `${page.word}x`]) {
      const field = { 'x-sallyport-csrf': csrf };
      for (const path of ['/api/questions/q1', '/api/sandboxes/sbx_1/revoke', '/api/approvals/a1/end', '/api/leave'])
        expect((await page.post(path, deny, field)).status).toBe(401);
      // A browser shows the cookie to whoever listens on another port of this machine.
      for (const path of ['/api/state', '/api/events', '/api/requests/r1', '/api/questions/q1/line'])
        expect((await page.get(path, field)).status).toBe(401);
    }
    // Only a stream has its word in the address, where it changes nothing.
    for (const path of [`/api/state?word=${page.word}`, `/api/questions/q1/line?word=${page.word}`])
      expect((await page.get(path, { 'x-sallyport-csrf': undefined })).status).toBe(401);
    expect((await page.get('/api/state')).status).toBe(200);
  });

  test('what a form can send is not JSON, and a change is never a GET', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      undefined,
    ])
      expect((await page.post('/api/questions/q1', deny, { 'content-type': type })).status).toBe(415);
    for (const path of ['/api/questions/q1', '/api/sandboxes/sbx_1/revoke', '/api/approvals/a1/end', '/api/leave'])
      expect((await page.get(path)).status).toBeGreaterThanOrEqual(404);
    expect((await page.get('/api/state')).status).toBe(200);
  });

  test('of what is refused no more is read: the connection ends', async () => {
    const half = 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    for (const host of ['evil.example', `127.0.0.1:${port}`])
      expect(await sendRaw(`POST /api/leave HTTP/1.1\r\nHost: ${host}\r\n${half}`)).toMatch(
        /\r\nconnection: close\r\n/i,
      );
  });

  test('no other method is served', async () => {
    const headers = { cookie: page.cookie };
    for (const method of ['PUT', 'DELETE', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND'])
      expect((await askPage(ground.dashboard.origin, '/api/state', { method, headers })).status).toBe(405);
  });
});

test('through all of that nothing was answered, revoked or ended', () => {
  expect(ground.answers).toEqual([]);
  expect(ground.faults).toEqual([]);
});

function sendRaw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
    });
    socket.once('close', () => resolve(said));
    socket.once('error', reject);
  });
}
