// The admin API on its real socket, damaged: any method, any path, any body. It answers in the 200s or 400s, in JSON with a
// code where it refuses, and the gateway serves on.
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutated, mutatedText } from '../../support/fuzz-mutations.ts';
import { fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

reportFuzz('admin API');

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    allow: [{ host: 'api.example' }],
    credentials: { key: { hosts: ['api.example'], inject: { header: 'x-api-key' } } },
  });
  await gateway.register({ id: 'kept', proof: ['secret'] });
});

afterAll(() => gateway.stop());

async function stillServes(): Promise<void> {
  const health = await gateway.admin('GET', '/internal/health');
  expect(health.status).toBe(200);
  expect((await gateway.admin('GET', '/internal/containers/kept')).status).toBe(200);
}

const paths = [
  '/internal/containers',
  '/internal/containers/kept/renew',
  '/internal/containers/172.18.0.5',
  '/internal/credentials/key',
  '/internal/credentials/other',
  '/internal/check',
  '/internal/health',
  '/internal/metrics',
  '/internal/audit?limit=5',
  '/',
  '/internal/../internal/health',
];
const bodies = [
  '{"container_ip":"172.18.0.5","repos":["o/r"],"auth_mode":"bot","proof":["ip","secret"]}',
  '{"sandbox":"kept","method":"GET","url":"https://api.example/","headers":{"a":"b"},"body":"x"}',
  '{"expires_at":"2027-01-15T00:00:00Z"}',
  'a-secret-value',
  '[]',
];

describe('a damaged call', () => {
  test('is answered, and not with a fault of ours', { timeout: fuzzTimeoutMs }, async () => {
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS');
    const path = fc
      .oneof(fc.constantFrom(...paths), mutatedText(paths))
      .map((text) => `/${text.slice(1).replace(/[^\x21-\x7e]/g, '%')}`);
    // The one that must be there afterwards is not to be removed.
    const call = fc
      .tuple(method, path, fc.option(fc.oneof(fc.constantFrom(...bodies), mutatedText(bodies), fc.json())))
      .filter(([how, where]) => how !== 'DELETE' || !where.includes('kept'));
    let done = 0;
    await fuzzSlowly(call, 300, async ([how, where, body]) => {
      const reply = await gateway.admin(how, where, body ?? undefined);
      expect(reply.status, reply.body).toBeGreaterThanOrEqual(200);
      expect(reply.status, `${how} ${where} ${body}: ${reply.body}`).toBeLessThan(500);
      if (reply.status >= 400 && how !== 'HEAD')
        expect(reply.json()).toMatchObject({ error: expect.any(String), code: expect.any(String) });
      if (reply.status < 300) done++;
    });
    expect(done).toBeGreaterThan(5);
    await stillServes();
  });

  test('in raw bytes does not end the gateway', { timeout: fuzzTimeoutMs }, async () => {
    const raw = [
      'GET /internal/health HTTP/1.1\r\nHost: x\r\n\r\n',
      'POST /internal/containers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
      'PUT /internal/credentials/key HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'GET /internal/audit?follow=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    ].map((text) => Buffer.from(text));
    await fuzzSlowly(mutated(raw), 150, async (bytes) => {
      const text = await new Promise<string>((resolve) => {
        const socket = connect(gateway.gateway.summary.adminSocket);
        let received = '';
        const finish = (): void => {
          socket.destroy();
          resolve(received);
        };
        socket.on('data', (chunk) => {
          received += chunk;
          finish();
        });
        socket.on('close', finish).on('error', finish);
        socket.write(bytes);
        // Half a request is not answered.
        setTimeout(finish, 25).unref();
      });
      expect(text).not.toMatch(/^HTTP\/1\.1 5/);
    });
    await stillServes();
  });
});
