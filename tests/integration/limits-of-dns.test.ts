import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { questionOf, readReply } from '../support/dns-ground.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const door = '127.83.4.1';
const refused = 5;

let gateway: TestGateway;
let client: Socket;

beforeAll(async () => {
  gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', gateway: door },
    allow: [{ host: 'api.example' }],
    limits: { dns_per_second: 2, gateway: { dns_per_second: 50 } },
  });
  await gateway.register({ container_ip: '127.0.0.1' });
  client = createSocket('udp4').bind(0, '127.0.0.1');
  await once(client, 'listening');
});

afterAll(async () => {
  client.close();
  await gateway.stop();
});

test('over its DNS questions a sandbox is refused, and the operator has one record that names the limit', async () => {
  const codes: number[] = [];
  for (let i = 0; i < 40; i++) {
    const answer = once(client, 'message') as Promise<[Buffer]>;
    client.send(questionOf('api.example'), 53, door);
    codes.push(readReply((await answer)[0]).rcodeNumber);
  }
  // Two seconds' worth at once; what comes back while this runs is little.
  expect(codes.slice(0, 4)).toEqual([0, 0, 0, 0]);
  expect(codes.filter((code) => code === refused).length).toBeGreaterThan(20);
  const records = (await gateway.journal()).filter(({ code }) => code === 'limit.rate');
  expect(records).toHaveLength(1);
  expect(records[0]).toMatchObject({ from: '127.0.0.1', kind: 'lookup', rule: 'limits.dns_per_second' });
});
