// Attack: with a wildcard rule, think up a host for each request. Each of them leaves a connection open that nobody will use
// again, until the gateway has no file descriptor left for anybody.
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startTestGateway } from '../../support/test-gateway.ts';
import { Wire } from '../../support/wire.ts';

const hosts = 400;

test('a sandbox keeps 256 of them, and the oldest are closed', async () => {
  const far = createServer((_request, response) => response.end('far'));
  // So that it is not the far side that closes them.
  far.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
  const open = () => new Promise<number>((resolve) => far.getConnections((_error, count) => resolve(count)));
  const gateway = await startTestGateway({
    allow: [{ host: '*.far.example', plain_http: true }],
    upstream: { resolve: { '*.far.example': `127.0.0.1:${(far.address() as AddressInfo).port}` } },
    limits: { requests_per_minute: 100_000 },
  });
  try {
    await gateway.register();
    const wire = new Wire(connect(gateway.port, gateway.host));
    for (let i = 0; i < hosts; i++) {
      wire.send(`GET http://h${i}.far.example/ HTTP/1.1\r\nHost: h${i}.far.example\r\n\r\n`);
      expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 200 /);
    }
    await eventually(async () => (await open()) <= 256, 'the rest is closed');
    // They are kept for who comes again, all the same.
    expect(await open()).toBeGreaterThan(200);
    wire.socket.destroy();
  } finally {
    await gateway.stop();
    far.closeAllConnections();
    await new Promise((resolve) => far.close(resolve));
  }
});
