import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendTunnelled } from '../../support/raw-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { askHttp2WithTrailers } from '../../support/trailers.ts';

const host = 'api.example';
let upstream: RecordingUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRecordingUpstream(ca.issue([host]));
  gateway = await startTestGateway({
    allow: [{ host }],
    credentials: { corp: { hosts: [host], inject: { header: 'x-corp-key' } } },
    upstream: { resolve: { [host]: upstream.address }, ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('corp', 'the-real-key');
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const post = (trailer: string): string =>
  `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n${trailer}\r\n`;

describe('a sandbox cannot send a key of its own behind the body', () => {
  test('a trailer that is no credential passes, and the real key went in the head', async () => {
    const answer = await sendTunnelled(gateway, host, post('X-Sum: 1\r\n'));
    expect(answer.statuses).toEqual([200]);
    expect(upstream.bytes).toContain('x-corp-key: the-real-key');
    expect(upstream.bytes).toContain('X-Sum: 1');
  });

  test.each(['X-Corp-Key', 'x_corp_key'])(
    '%s over HTTP/1.1 is refused, and the upstream never sees it',
    async (name) => {
      const answer = await sendTunnelled(gateway, host, post(`${name}: the-sandbox-own\r\n`));
      expect(answer.statuses).toEqual([400]);
      expect(answer.code).toBe('malformed.framing');
      expect(upstream.bytes).not.toContain('the-sandbox-own');
    },
  );

  test('over HTTP/2 it is refused as well', async () => {
    const status = await askHttp2WithTrailers(gateway, host, { 'x-corp-key': 'the-sandbox-own' });
    expect(status).toBe(400);
    expect(upstream.bytes).not.toContain('the-sandbox-own');
  });
});
