import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientEnvironment } from '../support/client-environment.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const realKey = 'AIza-real-google-0123456789';
const host = 'generativelanguage.googleapis.com';
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, [host]);
  gateway = await startTestGateway({
    allow: [{ preset: 'google' }],
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('google', realKey);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

/** What proxy-agent packages do: CONNECT with node:http, TLS over the socket it gives. */
const throughTheDoor = `
const http = require('node:http'), https = require('node:https'), http2 = require('node:http2'), tls = require('node:tls');
const proxy = new URL(process.env.HTTPS_PROXY);
function open(host, ALPNProtocols) {
  return new Promise((resolve, reject) => {
    const asked = http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: host + ':443',
      headers: { host: host + ':443' } });
    asked.on('connect', (answer, socket) => {
      if (answer.statusCode !== 200) return reject(new Error('CONNECT ' + answer.statusCode));
      const secure = tls.connect({ socket, servername: host, ALPNProtocols }, () => resolve(secure));
      secure.on('error', reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}`;

const overHttp1 = (host: string): string => `${throughTheDoor}
class DoorAgent extends https.Agent {
  createConnection({ host }, done) { open(host, ['http/1.1']).then((socket) => done(null, socket), done); }
}
const path = '/v1beta/models/gemini:generateContent?key=placeholder&alt=json';
const asked = https.request({ host: '${host}', method: 'POST', path, agent: new DoorAgent() }, (answer) => {
  let text = '';
  answer.on('data', (chunk) => (text += chunk));
  answer.on('end', () => console.log(JSON.stringify({ status: answer.statusCode, text })));
});
asked.end('{"contents":[]}');`;

const overHttp2 = (host: string): string => `${throughTheDoor}
open('${host}', ['h2']).then((socket) => {
  const session = http2.connect('https://${host}', { createConnection: () => socket });
  const path = '/v1beta/models/gemini:generateContent?key=placeholder&alt=json';
  const asked = session.request({ ':method': 'POST', ':path': path });
  let text = '', status = 0;
  asked.on('response', (headers) => (status = headers[':status']));
  asked.on('data', (chunk) => (text += chunk));
  asked.on('end', () => { console.log(JSON.stringify({ status, text })); session.close(); });
  asked.end('{"contents":[]}');
});`;

async function node(script: string): Promise<{ status: number; text: string }> {
  const run = await runClient(process.execPath, ['-e', script], { env: clientEnvironment(gateway) });
  if (run.code !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as { status: number; text: string };
}

describe('Node clients use the door through CONNECT', () => {
  test.each([
    ['node:https', overHttp1, '1.1'],
    ['node:http2', overHttp2, '2.0'],
  ] as const)('%s gets an answer made with the real key, and its own key is gone', async (_name, script, version) => {
    const answer = await node(script(host));
    expect(answer.status).toBe(200);
    const seen = upstream.seen.at(-1)!;
    expect(seen.httpVersion).toBe(version);
    expect(seen.headers['x-goog-api-key']).toBe(realKey);
    expect(seen.url).toBe('/v1beta/models/gemini:generateContent?alt=json');
    expect(seen.body).toBe('{"contents":[]}');
  });

  test.each([
    ['node:https', overHttp1],
    ['node:http2', overHttp2],
  ] as const)('%s reads why it was refused', async (_name, script) => {
    const before = upstream.seen.length;
    const answer = await node(script('elsewhere.example'));
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'domain.not-allowed' });
    expect(upstream.seen.length).toBe(before);
  });
});
