// `limits`, `budgets`, `store` and `listen.workers`: what is read, what is left out, and what is an error.
import { describe, expect, test } from 'vitest';
import { parseStoreUrl } from '../../../../src/policy/schema/store-schema.ts';
import { policyOf } from '../pretend-machine.ts';

const policyWith = (lines: string) => policyOf(`version: 1\nallow: [{host: a.example}]\n${lines}\n`);

describe('limits have the same keys for a sandbox, a credential and the gateway', () => {
  test('left out, a sandbox is bounded, a credential is not, and the gateway only in what it holds at once', async () => {
    const { limits } = await policyWith('');
    expect(limits).toMatchObject({
      requestsPerMinute: 6000,
      burst: 6000,
      concurrentRequests: 256,
      pushesPerMinute: 60,
      uploadBytesPerMinute: 0,
      connectionsPerSecond: 200,
      dnsPerSecond: 100,
      requestTimeoutMs: 0,
      clientHeadTimeoutMs: 30_000,
    });
    expect(limits.credential).toEqual({
      requestsPerMinute: 0,
      burst: 0,
      concurrentRequests: 0,
      uploadBytesPerMinute: 0,
      downloadBytesPerMinute: 0,
      pushesPerMinute: 0,
    });
    expect(limits.gateway).toMatchObject({ requestsPerMinute: 0, concurrentRequests: 8192, connections: 16_384 });
  });

  test('a burst that is not written is one minute of the rate that is', async () => {
    const { limits } = await policyWith(
      'limits: {requests_per_minute: 30, credential: {requests_per_minute: 7}, gateway: {requests_per_minute: 90, burst: 5}}',
    );
    expect([limits.burst, limits.credential.burst, limits.gateway.burst]).toEqual([30, 7, 5]);
  });

  test.each([
    ['limits: {requests_per_minute: 0}', 'a sandbox always has a rate'],
    ['limits: {burst: 0}', 'a burst of nothing would refuse everything'],
    ['limits: {credential: {connections: 5}}', 'a credential has no connections'],
    ['limits: {gateway: {head_bytes: 5000}}', 'sizes are for all alike'],
    ['limits: {gateway: 5}', 'not a map'],
    ['listen: {workers: 0}', 'somebody must serve'],
    ['listen: {workers: many}', 'not a number'],
    ['budgets: {period: fortnight}', 'not a period'],
    ['budgets: {sandbox: {dollars: -1}}', 'negative'],
    ['budgets: {sandbox: {euros: 5}}', 'another currency'],
    ['budgets: {prices: {"a model": {input: 1, output: 1}}}', 'a space in the name of a model'],
    ['budgets: {prices: {gpt: {input: 1}}}', 'half a price'],
  ])('%s is an error: %s', async (lines) => {
    await expect(policyWith(lines)).rejects.toThrow();
  });

  test('budgets are counted in millionths of a dollar, and what a cache costs is as much as input unless it is said', async () => {
    const { budgets, listen } = await policyWith(
      'listen: {workers: 4}\nbudgets: {period: week, sandbox: {tokens: 1000, dollars: 0.25}, prices: {"my-*": {input: 2, output: 8}, other: {input: 1, output: 1, cache_read: 0.1, cache_write: 3}}}',
    );
    expect(listen.workers).toBe(4);
    expect(budgets.period).toBe('week');
    expect(budgets.sandbox).toEqual({ tokens: 1000, microDollars: 250_000 });
    expect(budgets.gateway).toEqual({ tokens: 0, microDollars: 0 });
    expect(budgets.prices).toEqual([
      { pattern: 'my-*', price: { input: 2, output: 8, cacheRead: 2, cacheWrite: 2 } },
      { pattern: 'other', price: { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 3 } },
    ]);
  });
});

test('a budget that no host of models is under is told of', async () => {
  const { warnings } = await policyWith('budgets: {sandbox: {dollars: 5}}');
  expect(warnings.join()).toContain('budgets are set');
  const modelHost = 'version: 1\nallow: [{host: a.example, conversation: true}]\nbudgets: {sandbox: {dollars: 5}}\n';
  expect((await policyOf(modelHost)).warnings).toEqual([]);
  expect((await policyWith('')).warnings).toEqual([]);
});

describe('a store is an address, or a map with what it takes to reach it', () => {
  test('none: the gateway keeps everything itself', async () => {
    expect((await policyWith('')).store).toBeNull();
  });

  test('an address alone is enough', async () => {
    expect((await policyWith('store: redis://redis.example')).store).toEqual({
      host: 'redis.example',
      port: 6379,
      tls: false,
      user: null,
      password: null,
      database: 0,
      roots: [],
      prefix: 'sallyport:',
      graceMs: 300_000,
      sharedAddresses: false,
      text: 'redis://redis.example:6379/0',
    });
  });

  test('TLS, a user, a password from a file, a prefix and a grace', async () => {
    const { store } = await policyWith(
      'store: {url: "rediss://door@redis.example:6380/2", password: {file: /run/secrets/redis}, prefix: "team-a:", grace_seconds: 0, shared_addresses: true}',
    );
    expect(store).toMatchObject({
      port: 6380,
      tls: true,
      user: 'door',
      password: { kind: 'file', path: '/run/secrets/redis' },
      database: 2,
      prefix: 'team-a:',
      graceMs: 0,
      sharedAddresses: true,
    });
    expect(store?.text).not.toContain('door');
  });

  test.each([
    'store: memcached://redis.example',
    'store: redis.example',
    'store: 6379',
    'store: {}',
    'store: "redis://redis.example/zero"',
    'store: {url: "redis://redis.example", prefix: "a b"}',
    'store: {url: "redis://redis.example", ca: no-such.pem}',
    'store: {url: "redis://redis.example", password: hunter2}',
    'store: {url: "redis://redis.example", passwort: {file: /x}}',
  ])('%s is an error', async (line) => {
    await expect(policyWith(line)).rejects.toThrow();
  });

  test('a user that is no part of a URL is an error with its place, and not a crash', () => {
    expect(parseStoreUrl('redis://%zz@redis.example')).toHaveProperty('problem');
  });

  test('a password in the address is refused, in words that do not repeat it', async () => {
    const result = parseStoreUrl('redis://door:hunter2@redis.example');
    expect(result).toHaveProperty('problem');
    expect(JSON.stringify(result)).not.toContain('hunter2');
    await expect(policyWith('store: "redis://door:hunter2@redis.example"')).rejects.toThrow(/password/);
  });
});
