import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendBare, sendPlain, sendTunnelled } from '../../support/raw-client.ts';
import { type RawUpstream, startRawUpstream } from '../../support/raw-upstream.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

const key = 'planted-key-41c0ffee99';
const names = ['api.example', 'xapi.example', 'api.example.evil', 'sub.api.example', 'open.example'];

let far: RecordingUpstream;
let plain: RawUpstream;
let plainBytes = '';
let gateway: TestGateway;
let withoutKey: { readonly socketPath: string };

beforeAll(async () => {
  const ca = makeTestCa();
  far = await startRecordingUpstream(ca.issue(names));
  plain = await startRawUpstream({
    tls: null,
    serve: async ({ wire }) => {
      const first = await wire.bytes(1);
      plainBytes += first;
      if (first !== '\x16') plainBytes += await wire.until('\r\n\r\n');
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
    },
  });
  gateway = await startTestGateway({
    allow: [...names.map((host) => ({ host })), { host: 'both.example', plain_http: true }],
    credentials: {
      key: { hosts: ['api.example', 'both.example'], paths: ['/v1/**'], inject: { header: 'x-api-key' } },
    },
    upstream: {
      resolve: {
        ...Object.fromEntries(names.map((name) => [name, far.address])),
        'both.example': plain.address,
      },
      ca: ca.path,
    },
  });
  await gateway.register();
  await gateway.setSecret('key', key);
  const other = await gateway.register({ proof: ['socket'], credentials: [] });
  withoutKey = { socketPath: (other.grant as { socket: string }).socket };
});

afterAll(async () => {
  await gateway.stop();
  await far.close();
  await plain.close();
});

beforeEach(() => {
  far.forget();
  plainBytes = '';
});

const get = (host: string, path = '/v1/x', ...fields: string[]): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;

describe('the credential goes to its host, its paths and its sandboxes, over TLS, and nowhere else', () => {
  test('there it goes', async () => {
    const answer = await sendTunnelled(gateway, 'api.example', get('api.example'));
    expect(answer.statuses).toEqual([200]);
    expect(far.bytes).toContain(`x-api-key: ${key}\r\n`);
    expect(answer.text).not.toContain(key);
  });

  test.each(['xapi.example', 'api.example.evil', 'sub.api.example', 'open.example'])('not to %s', async (host) => {
    const answer = await sendTunnelled(gateway, host, get(host));
    expect(answer.statuses).toEqual([200]);
    expect(far.requests).toHaveLength(1);
    expect(far.bytes).not.toContain(key);
  });

  test.each(['/telemetry', '/api/event_logging/batch', '/v1', '/V1/x', '/v2/x', '/v1%2fx'])(
    'not to %s of the same host',
    async (path) => {
      const answer = await sendTunnelled(gateway, 'api.example', get('api.example', path, 'x-api-key: placeholder'));
      expect(answer.statuses).toEqual([200]);
      expect(far.requests).toHaveLength(1);
      expect(far.bytes).not.toContain(key);
      // Nor does what the sandbox put there: a key of its own would carry data out to its own account.
      expect(far.bytes).not.toContain('placeholder');
    },
  );

  test('not over plain http, asked at the door', async () => {
    const answer = await sendPlain(gateway, get('both.example', 'http://both.example/v1/x'));
    expect(answer.statuses).toEqual([200]);
    expect(plainBytes).toContain('GET /v1/x HTTP/1.1\r\n');
    expect(plainBytes).not.toContain(key);
  });

  test('not over plain http, asked inside a CONNECT', async () => {
    const answer = await sendBare(gateway, 'both.example:80', get('both.example'));
    expect(answer.statuses).toEqual([200]);
    expect(plainBytes).toContain('GET /v1/x HTTP/1.1\r\n');
    expect(plainBytes).not.toContain(key);
  });

  test('not to an upstream that answers TLS with plain words', async () => {
    const answer = await sendTunnelled(gateway, 'both.example', get('both.example'));
    expect([answer.statuses, answer.code]).toEqual([[502], 'upstream.connect']);
    expect(plainBytes).not.toContain(key);
  });

  test('not for a sandbox that is not registered for it', async () => {
    const wire = new Wire(await openTls(withoutKey, 'api.example:443', { caPath: gateway.caPath }));
    wire.send(get('api.example', '/v1/x', 'x-api-key: placeholder'));
    expect((await wire.answer()).head).toContain('HTTP/1.1 200');
    expect(far.requests).toHaveLength(1);
    expect(far.bytes).not.toContain(key);
    wire.socket.destroy();
  });
});
