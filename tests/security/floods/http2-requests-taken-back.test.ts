// Rapid reset (CVE-2023-44487): requests that are opened and taken back in a loop, faster than any limit on open streams can
// see. The connection is closed and written down, each request counts, and nothing of them goes on behind it.
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type FakeUpstream, startStreamingUpstream } from '../../support/fake-upstream.ts';
import { startFarGateway } from '../../support/far-gateway.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { endStream, FramePeer, goawayCode, headersFrame, requestFields, resetFrame } from '../../support/raw-http2.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import type { TestGateway } from '../../support/test-gateway.ts';
import { openTls } from '../../support/tunnel-client.ts';

const host = 'far.example';
const enhanceYourCalm = 11;
let upstream: Omit<FakeUpstream, 'seen'>;
let gateway: TestGateway;
let underway = 0;
let begun = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startStreamingUpstream(ca, [host], (request, response) => {
    if (request.url === '/fine') {
      response.end('fine');
      return;
    }
    // Never answered: it is over when the gateway lets go of it.
    begun++;
    underway++;
    response.on('close', () => underway--);
  });
  gateway = await startFarGateway(ca, { [host]: upstream }, { limits: { requests_per_minute: 100_000 } });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const open = (): Promise<Socket> => openTls(gateway, `${host}:443`, { caPath: gateway.caPath, alpn: ['h2'] });
const asked = (stream: number): Buffer => headersFrame(stream, requestFields(host, 'GET', '/taken-back'), endStream);

test('the connection is closed with a word, once in the journal, and the far side is left', async () => {
  const peer = new FramePeer(await open(), false);
  const mostStreams = 900;
  for (let n = 0; n < mostStreams && !peer.closed; n++) {
    peer.send(asked(2 * n + 1), resetFrame(2 * n + 1, n % 2 === 0 ? 8 : 0));
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await eventually(() => peer.closed, 'the connection is closed');
  expect(goawayCode(peer)).toBe(enhanceYourCalm);
  await eventually(() => underway === 0, 'nothing goes on at the far side');
  // The far side may be left before the last records are written; a flood of them is merged into few.
  const takenBack = async () => (await gateway.journal()).filter(({ path }) => path === '/taken-back');
  const countOf = ({ merged }: Record<string, unknown>) => (merged as { count: number } | null)?.count ?? 1;
  const counted = async () => (await takenBack()).reduce((sum, record) => sum + countOf(record), 0);
  await eventually(async () => (await counted()) >= begun, 'every request that went on is in the journal');
  const records = await gateway.journal();
  const floods = records.filter(({ code }) => code === 'limit.http2-flood');
  expect(floods).toHaveLength(1);
  expect(floods[0]).toMatchObject({ verdict: 'refused', status: 429 });
  // Every one that was let in has its record, and none of them was taken for served.
  const taken = records.filter(({ path }) => path === '/taken-back');
  expect(taken.length).toBeGreaterThan(200);
  expect(taken.length).toBeLessThan(mostStreams);
  expect(new Set(taken.map(({ verdict }) => verdict))).toEqual(new Set(['abandoned']));
});

test('who takes back what it no longer wants, as clients do, goes on', async () => {
  const peer = new FramePeer(await open(), false);
  for (let n = 0; n < 100; n++) peer.send(asked(2 * n + 1), resetFrame(2 * n + 1, 8));
  peer.send(headersFrame(201, requestFields(host, 'GET', '/fine'), endStream));
  await eventually(() => peer.outcome(201).answered, 'the next request is answered');
  expect(peer.closed).toBe(false);
  peer.socket.destroy();
  const answer = await sendTunnelled(gateway, host, `GET /fine HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(answer.statuses).toEqual([200]);
});
