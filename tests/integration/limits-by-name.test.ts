import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../support/limits-ground.ts';
import { sendPlain } from '../support/raw-client.ts';

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround();
});

afterAll(() => ground.stop());

describe('a sandbox that is over a limit is told which one, whose, and when to come back', () => {
  test('requests per minute, with a burst', async () => {
    await ground.limit({ requests_per_minute: 1, burst: 2 });
    const door = await ground.sandbox();
    for (let i = 0; i < 2; i++) expect((await ground.ask(door, hosts.open)).status).toBe(200);
    const over = await ground.ask(door, hosts.open);
    expect(over).toMatchObject({ status: 429, code: 'limit.rate', rule: 'limits.requests_per_minute' });
    expect(over.retryAfter).toBeGreaterThan(5);
    expect((await ground.ask(await ground.sandbox(), hosts.open)).status).toBe(200);
  });

  test('requests with one credential, whoever sends them', async () => {
    await ground.limit({ credential: { requests_per_minute: 2 } });
    const [one, two] = [await ground.sandbox(), await ground.sandbox()];
    expect((await ground.ask(one, hosts.keyed)).status).toBe(200);
    expect((await ground.ask(two, hosts.keyed)).status).toBe(200);
    const over = await ground.ask(two, hosts.keyed);
    expect(over).toMatchObject({ status: 429, code: 'limit.rate', rule: 'limits.credential.requests_per_minute' });
    expect(over.text).toContain('the credential key, which sandboxes share, is over 2 requests per minute');
    expect(over.text).not.toContain(one.id);
    expect((await ground.ask(two, hosts.alsoKeyed)).status).toBe(200);
    expect((await ground.ask(two, hosts.open)).status).toBe(200);
  });

  test('pushes per minute: a push is one, whatever becomes of it', async () => {
    await ground.limit({ pushes_per_minute: 1 });
    const door = await ground.sandbox({ repos: ['acme/widgets'] });
    const fields = ['Content-Type: application/x-git-receive-pack-request'];
    const push = () =>
      ground.ask(door, hosts.git, '/acme/widgets.git/git-receive-pack', { method: 'POST', fields, body: 'no push' });
    expect((await push()).code).toBe('git.malformed');
    expect(await push()).toMatchObject({ status: 429, code: 'limit.pushes', rule: 'limits.pushes_per_minute' });
    expect((await ground.ask(door, hosts.open)).status).toBe(200);
  });

  test('bytes per minute: while they are owed, nothing new is begun', async () => {
    await ground.limit({ download_bytes_per_minute: 6_000 });
    const door = await ground.sandbox();
    expect((await ground.ask(door, hosts.open, '/length/12000')).status).toBe(200);
    const over = await ground.ask(door, hosts.open);
    expect(over).toMatchObject({ status: 429, code: 'limit.bytes', rule: 'limits.download_bytes_per_minute' });
    expect(over.retryAfter).toBeGreaterThan(30);
    await ground.limit({ upload_bytes_per_minute: 6_000 });
    await ground.ask(door, hosts.open, '/', { method: 'POST', body: 'x'.repeat(12_000) });
    expect(await ground.ask(door, hosts.open)).toMatchObject({ rule: 'limits.upload_bytes_per_minute' });
  });

  test('requests at a time: a request that waits for its answer is one of them', async () => {
    await ground.limit({ concurrent_requests: 1 });
    const door = await ground.sandbox();
    const held = ground.ask(door, hosts.open, '/hold');
    held.catch(() => {});
    const over = await eventually(async () => {
      const told = await ground.ask(door, hosts.open);
      return told.status === 429 && told;
    }, 'the place is taken');
    expect(over).toMatchObject({ code: 'limit.concurrent', rule: 'limits.concurrent_requests', retryAfter: 1 });
    // Cut with its sandbox, so that nothing is left of it.
    await ground.gateway.admin('DELETE', `/internal/containers/${door.id}`);
    await held;
  });

  test('requests of all sandboxes together', async () => {
    await ground.limit({ gateway: { requests_per_minute: 2 } });
    const [one, two] = [await ground.sandbox(), await ground.sandbox()];
    expect((await ground.ask(one, hosts.open)).status).toBe(200);
    expect((await ground.ask(two, hosts.keyed)).status).toBe(200);
    const over = await ground.ask(one, hosts.open);
    expect(over).toMatchObject({ status: 429, code: 'limit.rate', rule: 'limits.gateway.requests_per_minute' });
    expect(over.text).not.toContain(two.id);
  });
});

describe('the length of an answer', () => {
  test('one that says it is too long is refused in words; one that turns out to be is broken off, and both are written down', async () => {
    await ground.limit({ response_body_bytes: 100_000 });
    const door = await ground.sandbox();
    expect((await ground.ask(door, hosts.open, '/length/100000')).text.length).toBeGreaterThan(100_000);
    const told = await ground.ask(door, hosts.open, '/length/100001');
    expect(told).toMatchObject({ status: 502, code: 'limit.response-size', rule: 'limits.response_body_bytes' });
    const broken = await ground.ask(door, hosts.open, '/bytes/300000');
    expect([broken.status, broken.broken]).toEqual([200, true]);
    expect(broken.text.length).toBeLessThan(110_000);
    await eventually(
      async () => (await ground.gateway.journal()).filter(({ code }) => code === 'limit.response-size').length === 2,
      'two records',
    );
  });
});

describe('connections', () => {
  test('new ones a second: those over it are told so, and the operator has one record of them', async () => {
    await ground.limit({ connections_per_second: 5 });
    await ground.gateway.register({ container_ip: '127.0.0.1' });
    const attempts = await Promise.all(Array.from({ length: 60 }, () => sendPlain(ground.gateway, 'x\r\n\r\n')));
    const over = attempts.filter(({ code }) => code === 'limit.connection-rate');
    expect(over.length).toBeGreaterThan(20);
    expect(over.every(({ statuses, closed }) => closed && statuses[0] === 429)).toBe(true);
    expect(over[0]!.text).toMatch(/\r\nRetry-After: \d+\r\n/);
    const records = (await ground.gateway.journal()).filter(({ code }) => code === 'limit.connection-rate');
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ from: '127.0.0.1', rule: 'limits.connections_per_second', verdict: 'refused' });
  });

  test('all together, and a place that is given up is there again', async () => {
    await ground.limit({ gateway: { connections: 2 } });
    const door = await ground.sandbox();
    const held = [connect(door.socketPath), connect(door.socketPath)];
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    const over = await eventually(async () => {
      const told = await ground.ask(door, hosts.open);
      return told.status === 429 && told;
    }, 'no place is left');
    expect(over).toMatchObject({ code: 'limit.connections' });
    for (const socket of held) socket.destroy();
    await eventually(async () => (await ground.ask(door, hosts.open)).status === 200, 'there is room again');
  });
});
