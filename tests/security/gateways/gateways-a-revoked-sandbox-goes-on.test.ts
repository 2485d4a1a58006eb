import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  askPlain,
  beginSlow,
  type KnownSandbox,
  type PlainUpstream,
  startPlainUpstream,
} from '../../support/plain-upstream.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let upstream: PlainUpstream;
let a: TestGateway;
let b: TestGateway;

beforeAll(async () => {
  const redis = await RedisServer.start();
  upstream = await startPlainUpstream();
  const config = { ...upstream.policy, store: `redis://127.0.0.1:${redis.port}` };
  a = await startTestGateway(config);
  b = await startTestGateway(config, a);
});

afterAll(async () => {
  await b.stop();
  await a.stop();
  await upstream.close();
});

async function registerAt(gateway: TestGateway, id: string): Promise<KnownSandbox> {
  const { grant } = await gateway.register({ id, proof: ['secret'] });
  return { id, secret: (grant as { secret: string }).secret };
}

describe('what is unregistered at one gateway is over at the other', () => {
  test('when the answer comes: nothing more of it is forwarded, and what it had open is cut', async () => {
    const sandbox = await registerAt(a, 'one');
    const open = await beginSlow(b, sandbox);
    expect((await askPlain(b, sandbox)).statuses).toEqual([200]);
    const reply = await a.admin('DELETE', '/internal/containers/one');
    expect([reply.status, reply.body]).toEqual([204, '']);
    const before = upstream.count();
    // Not in a moment: now.
    const answer = await askPlain(b, sandbox);
    expect([answer.statuses, answer.code]).toEqual([[403], 'sandbox.unknown']);
    await open.rest();
    expect(open.ended).not.toBe('open');
    expect(upstream.count()).toBe(before);
  });

  test('the secret of an earlier registration is worth nothing at any gateway', async () => {
    const earlier = await registerAt(a, 'two');
    expect((await askPlain(b, earlier)).statuses).toEqual([200]);
    await b.admin('DELETE', '/internal/containers/two');
    const later = await registerAt(b, 'two');
    for (const gateway of [a, b]) {
      expect((await askPlain(gateway, earlier)).code).toBe('sandbox.proof-wrong');
      expect((await askPlain(gateway, later)).statuses).toEqual([200]);
    }
  });

  test('a container, a socket or an address of the other machine is listed and not served', async () => {
    await a.register({ id: 'by-address', container_ip: '127.0.0.1' });
    const listed = (await b.admin('GET', '/internal/containers')).json<{
      containers: { id: string; gateway: string }[];
    }>();
    expect(listed.containers.map(({ id }) => id)).toContain('by-address');
    const nobody = { id: 'by-address', secret: 'none' };
    expect((await askPlain(a, nobody)).statuses).toEqual([200]);
    const before = upstream.count();
    expect((await askPlain(b, nobody)).code).toBe('sandbox.unknown');
    expect(upstream.count()).toBe(before);
  });
});
