// Whoever can read all of Redis, and listen there, must learn no credential, no ticket and nothing a sandbox proves itself with.
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SharedStore } from '../../../src/path/shared-store.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

const value = 'real-token-5f1c0e7d';
const ticket = 'ticket-that-opens-an-object-99a1';
const proof = 'hash-of-a-secret-77b2';

describe('a reader of Redis learns nothing secret', () => {
  let server: RedisServer;
  let one: SharedStore;
  let other: SharedStore;
  let everything = '';

  beforeAll(async () => {
    server = await RedisServer.start();
    const tap = createClient({ socket: { host: '127.0.0.1', port: server.port, reconnectStrategy: false } });
    tap.on('error', () => {});
    await tap.connect();
    await tap.pSubscribe('*', (message, channel) => {
      everything += `${channel}\n${message}\n`;
    });
    one = await openGateway(server, 'one');
    other = await openGateway(server, 'other');
    await one.vault.put(`lfs ${ticket}`, Buffer.from(`{"authorization":"${value}"}`), 60_000);
    const body = JSON.stringify({ secret_hash: proof });
    await one.registrations.add(storedRegistration('a', { body }));
    await one.registrations.replace(storedRegistration('a', { body: `${body} ` }));
    everything += await server.dump();
    tap.destroy();
  });
  afterAll(() => server.stop());

  test('neither in a key, nor in a value, nor in a message, plain or in base64', () => {
    expect(everything).toContain('sallyport:registration:a');
    expect(everything).toContain('sallyport:changes');
    for (const secret of [value, ticket, proof]) {
      expect(everything).not.toContain(secret);
      // Whatever its place in the text, these are in its base64 form.
      for (const shift of [0, 1, 2]) {
        const coded = Buffer.from(secret.slice(shift)).toString('base64').slice(0, 16);
        expect(everything).not.toContain(coded);
      }
    }
  });

  test('while the other gateway reads all of it', async () => {
    expect(String(await other.vault.get(`lfs ${ticket}`))).toContain(value);
    expect((await other.registrations.load())[0]?.body).toContain(proof);
  });

  test('and a value outlives its time for nobody, whatever Redis says', async () => {
    const [key] = (await server.cli('KEYS', 'sallyport:vault:*')).split('\n');
    expect(await server.cli('PERSIST', key!)).toBe('1');
    const later = await openGateway(server, 'later', { now: () => Date.now() + 61_000 });
    expect(await later.vault.get(`lfs ${ticket}`)).toBeNull();
    expect(await other.vault.get(`lfs ${ticket}`)).not.toBeNull();
  });
});
