import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientEnvironment } from '../support/client-environment.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const realKey = 'sk-real-openai-0123456789';
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.openai.com']);
  gateway = await startTestGateway({
    allow: [{ preset: 'openai' }],
    upstream: { resolve: { 'api.openai.com': upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('openai', realKey);
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function python(script: string) {
  return runClient('/usr/bin/python3', ['-c', script], { env: clientEnvironment(gateway) });
}

const clients: Record<string, string> = {
  requests: `
import requests
answer = requests.post(url, data=body, headers=fields)
status, text = answer.status_code, answer.text`,
  httpx: `
import httpx
answer = httpx.post(url, content=body, headers=fields)
status, text = answer.status_code, answer.text`,
  urllib: `
import urllib.request, urllib.error
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, data=body, headers=fields, method="POST"))
except urllib.error.HTTPError as error:
    answer = error
status, text = answer.status, answer.read().decode()`,
};

function ask(client: string, url: string, body: string): Promise<{ status: number; text: string }> {
  const script = `
url, body = ${JSON.stringify(url)}, ${body}
fields = {"Authorization": "Bearer placeholder", "Content-Type": "application/json"}
${clients[client]}
import json
print(json.dumps({"status": status, "text": text}))`;
  return python(script).then((run) => {
    if (run.code !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout) as { status: number; text: string };
  });
}

describe('unmodified Python clients use the door by their environment alone', () => {
  test.each(Object.keys(clients))('%s gets an answer made with the real key', async (client) => {
    const before = upstream.seen.length;
    const answer = await ask(client, 'https://api.openai.com/v1/responses', `b'{"by": "${client}"}'`);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ method: 'POST', url: '/v1/responses' });
    expect(upstream.seen.length).toBe(before + 1);
    const seen = upstream.seen.at(-1)!;
    expect(seen.headers.authorization).toBe(`Bearer ${realKey}`);
    expect(seen.body).toBe(`{"by": "${client}"}`);
    expect(Object.keys(seen.headers).filter((name) => name.startsWith('proxy'))).toEqual([]);
  });

  test.each(Object.keys(clients))('%s reads why it was refused, though it sends a large body first', async (client) => {
    const before = upstream.seen.length;
    const answer = await ask(client, 'https://elsewhere.example/upload', "b'x' * (8 << 20)");
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'domain.not-allowed' });
    expect(upstream.seen.length).toBe(before);
  });
});
