import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
// Small enough to come from the far side in one piece: no answer is ever half-way when the client is full.
const size = 12_000;
const asked = 4_000;
let upstream: RawUpstream;
let gateway: TestGateway;
let served = 0;

beforeAll(async () => {
  const ca = makeTestCa();
  const page = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`;
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire }) => {
      for (;;) {
        await wire.until('\r\n\r\n');
        served++;
        wire.send(page);
      }
    },
  });
  gateway = await startFarGateway(ca, { [host]: upstream }, { limits: { requests_per_minute: 1_000_000 } });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

test('a client that sends request after request and reads no answer is not served on and on', async () => {
  const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(asked));
  let last = 0;
  while (served === 0 || served !== last) {
    last = served;
    await sleep(200);
  }
  // What the kernel holds for the two ends is a few MiB; the rest must still be a question, not an answer in memory.
  expect(served).toBeLessThan(asked / 2);
  const wire = new Wire(socket);
  for (let i = 0; i < asked; i++) expect((await wire.answer()).body.length).toBe(size);
  expect(served).toBe(asked);
  socket.destroy();
});
