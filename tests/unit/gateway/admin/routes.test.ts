import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ask, askJson } from './ask.ts';
import { type Running, startFake } from './fake-ports.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

const get = (path: string) => ask(gateway.socketPath, 'GET', path);

describe('sandboxes are registered over the admin socket', () => {
  test('a registration is answered with 201, its place, the record, and once what proves it', async () => {
    const answer = await askJson(gateway.socketPath, 'POST', '/internal/containers', { container_ip: '172.18.0.5' });
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe('/internal/containers/sbx_1');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.json).toMatchObject({ id: 'sbx_1', container_ip: '172.18.0.5', grant: { secret: 'proof-of-sbx' } });
    const later = await get('/internal/containers/sbx_1');
    expect(later.status).toBe(200);
    expect(later.text).not.toContain('proof-of-sbx');
  });

  test('a record is found by id and by address, also an IPv6 one', async () => {
    gateway.ports.records.set('six', { id: 'six', container_ip: 'fd00::5' });
    expect((await get('/internal/containers/six')).json.id).toBe('six');
    expect((await get('/internal/containers/fd00::5')).json.id).toBe('six');
    expect((await get('/internal/containers/fd00%3A%3A5')).json.id).toBe('six');
    expect((await get('/internal/containers')).json).toEqual({ containers: [{ id: 'six', container_ip: 'fd00::5' }] });
  });

  test('one that is not there is 404 with a hint, for GET, DELETE and renew', async () => {
    for (const [method, path] of [
      ['GET', '/internal/containers/nobody'],
      ['DELETE', '/internal/containers/nobody'],
      ['POST', '/internal/containers/nobody/renew'],
    ] as const) {
      const answer = await ask(gateway.socketPath, method, path);
      expect(answer.status).toBe(404);
      expect(answer.json.error).toContain('nobody');
    }
  });

  test('a DELETE is 204 and the record is gone', async () => {
    gateway.ports.records.set('one', { id: 'one' });
    expect((await ask(gateway.socketPath, 'DELETE', '/internal/containers/one')).status).toBe(204);
    expect(gateway.ports.records.size).toBe(0);
  });

  test('a DELETE that some gateway has not confirmed is 200 and names it', async () => {
    gateway.ports.records.set('one', { id: 'one' });
    gateway.ports.unconfirmed = ['gateway-b'];
    const answer = await ask(gateway.socketPath, 'DELETE', '/internal/containers/one');
    expect([answer.status, answer.json]).toEqual([200, { unconfirmed: ['gateway-b'] }]);
    gateway.ports.unconfirmed = [];
  });

  test("the port's own refusals keep their status, code and hint", async () => {
    const invalid = await askJson(gateway.socketPath, 'POST', '/internal/containers', { surprise: 1 });
    expect(invalid.status).toBe(400);
    expect(invalid.json).toEqual({ error: 'surprise: unknown key', code: 'sandbox.invalid', hint: 'Remove it.' });
    await askJson(gateway.socketPath, 'POST', '/internal/containers', { container_ip: '172.18.0.5' });
    const taken = await askJson(gateway.socketPath, 'POST', '/internal/containers', { container_ip: '172.18.0.5' });
    expect([taken.status, taken.json.code]).toEqual([409, 'sandbox.conflict']);
  });
});

describe('what is not of the API is refused in the right words', () => {
  test('another path is 404, also the older spelling and a trailing slash', async () => {
    for (const path of ['/', '/internal', '/internal/register', '/internal/containers/', '/internal/containers/a/b']) {
      expect((await get(path)).status, path).toBe(404);
    }
  });

  test('another method is 405 with Allow', async () => {
    const answer = await ask(gateway.socketPath, 'PATCH', '/internal/containers');
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('GET, POST');
    expect((await ask(gateway.socketPath, 'GET', '/internal/credentials/a')).headers.allow).toBe('PUT, DELETE');
  });

  test('a body that is not JSON by its type is 415, by its content 400 without quoting it', async () => {
    const form = await ask(gateway.socketPath, 'POST', '/internal/check', '{}', { 'content-type': 'text/plain' });
    expect([form.status, form.json.code]).toEqual([415, 'admin.media-type']);
    const type = { 'content-type': 'application/json; charset=utf-8' };
    const broken = await ask(gateway.socketPath, 'POST', '/internal/check', '{"token": hunter2', type);
    expect([broken.status, broken.json.code]).toEqual([400, 'admin.bad-json']);
    expect(broken.text).not.toContain('hunter2');
  });

  test('a compressed body is 415, a path or a body that does not decode is 400', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect((await ask(gateway.socketPath, 'PUT', '/internal/credentials/a', 'x', headers)).status).toBe(415);
    expect((await get('/internal/containers/%zz')).status).toBe(400);
    expect((await ask(gateway.socketPath, 'PUT', '/internal/credentials/a', Buffer.from([0xff]))).status).toBe(400);
  });

  test('a fault of our own is 500 without its words, which the operator hears', async () => {
    const answer = await ask(gateway.socketPath, 'PUT', '/internal/credentials/broken', 'hunter2');
    expect([answer.status, answer.json.code]).toEqual([500, 'internal.error']);
    expect(answer.text).not.toContain('hunter2');
    expect(gateway.faults.join()).toContain('PUT /internal/credentials/broken');
  });
});

describe('credentials go in and never come out', () => {
  test('a value is set with 204, listed by name only, and removed once', async () => {
    const set = await ask(gateway.socketPath, 'PUT', '/internal/credentials/anthropic', 'sk-real');
    expect([set.status, set.text]).toEqual([204, '']);
    expect(gateway.ports.secrets.get('anthropic')).toBe('sk-real');
    const listed = await get('/internal/credentials');
    expect(listed.json).toEqual({ credentials: [{ name: 'anthropic', source: 'memory', set: true }] });
    expect((await ask(gateway.socketPath, 'DELETE', '/internal/credentials/anthropic')).status).toBe(204);
    expect((await ask(gateway.socketPath, 'DELETE', '/internal/credentials/anthropic')).status).toBe(404);
  });

  test('an empty value is 400 and sets nothing', async () => {
    expect((await ask(gateway.socketPath, 'PUT', '/internal/credentials/a', ' \n')).status).toBe(400);
    expect(gateway.ports.secrets.size).toBe(0);
  });
});

describe('the gateway says how it is', () => {
  test('health is 200 when ready and 503 when not, with the controls', async () => {
    expect((await get('/internal/health')).json).toMatchObject({
      ready: true,
      controls: [{ name: 'journal', live: true }],
    });
    gateway.ports.ready = false;
    const bad = await get('/internal/health');
    expect(bad.status).toBe(503);
    expect(bad.json).toMatchObject({ ready: false, controls: [{ live: false }] });
  });

  test('metrics are plain text, a check is answered as the port decided', async () => {
    const metrics = await get('/internal/metrics');
    expect(metrics.headers['content-type']).toContain('text/plain');
    expect(metrics.text).toBe('sallyport_requests_total 1\n');
    const question = { method: 'GET', url: 'https://allowed.example/' };
    expect((await askJson(gateway.socketPath, 'POST', '/internal/check', question)).json.allowed).toBe(true);
    expect(gateway.ports.checks).toEqual([question]);
  });

  test('the journal comes as JSON lines with the filter that was asked for', async () => {
    gateway.ports.journal = [{ seq: 1 }, { seq: 2 }, { seq: 3 }];
    const answer = await get('/internal/audit?limit=2&sandbox=sbx_1&refused=1');
    expect(answer.headers['content-type']).toBe('application/x-ndjson');
    expect(answer.text).toBe('{"seq":2}\n{"seq":3}\n');
    expect(gateway.ports.filters[0]).toMatchObject({ sandbox: 'sbx_1', refusedOnly: true, follow: false, limit: 2 });
    for (const bad of ['limit=-1', 'limit=1e9', 'limit=99999999', 'refused=maybe']) {
      expect((await get(`/internal/audit?${bad}`)).status, bad).toBe(400);
    }
  });
});
