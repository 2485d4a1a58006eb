// Whoever can write to Redis can copy what a gateway has sealed from one key to another. It was sealed for its own key, and all
// of its name counts: the keys of a store have long beginnings in common.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSealedChanges } from '../../../src/gateway/store/redis/sealed-changes.ts';
import { createSealedBox } from '../../../src/kit/sealed-box.ts';
import { openGateway } from '../../support/redis-gateways.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { storedRegistration } from '../../support/store-contract.ts';

const long = 'sallyport:'.padEnd(2_000, 'a long common beginning, ');

describe('a sealed value opens under its own key alone', () => {
  let server: RedisServer;
  const ca = 'the common CA';
  const sealed = createSealedChanges(createSealedBox(Buffer.from(ca), 'store'), 'sallyport:');

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());

  test('the ticket of one sandbox is not had under the name of another', async () => {
    const gateway = await openGateway(server, 'one', { ca });
    const keyAfter = async (name: string, value: string): Promise<string> => {
      const before = new Set((await server.cli('KEYS', 'sallyport:vault:*')).split('\n'));
      await gateway.vault.put(name, Buffer.from(value), 60_000);
      return (await server.cli('KEYS', 'sallyport:vault:*')).split('\n').find((key) => !before.has(key))!;
    };
    const rich = await keyAfter('lfs ticket-of-the-rich', 'authorization of the rich');
    const poor = await keyAfter('lfs ticket-of-the-poor', 'authorization of the poor');
    expect(rich).not.toBe(poor);
    expect(String(await gateway.vault.get('lfs ticket-of-the-poor'))).toBe('authorization of the poor');
    await server.cli('SET', poor, await server.cli('GET', rich));
    expect(await gateway.vault.get('lfs ticket-of-the-poor')).toBeNull();
    expect(String(await gateway.vault.get('lfs ticket-of-the-rich'))).toBe('authorization of the rich');
  });

  test.each([
    ['in the last letter', `${long}x`, `${long}y`],
    ['by one letter more', long, `${long}x`],
    ['by one letter less', `${long}x`, long],
    ['in the first letter', `x${long}`, `y${long}`],
    ['in the middle', `${long}x${long}`, `${long}y${long}`],
    ['by its case', `${long}a`, `${long}A`],
    ['by a zero at its end', long, `${long}\0`],
    ['in how it is written in UTF-8', `${long}\u00e9`, `${long}e\u0301`],
    ['as vault and registration', 'sallyport:vault:one', 'sallyport:registration:one'],
  ])('names that differ %s are two places', (_how, from, to) => {
    const box = createSealedBox(randomBytes(32), 'store');
    const value = box.seal(from, Buffer.from('value'));
    expect(box.open(to, value)).toBeNull();
    expect(String(box.open(from, value))).toBe('value');
  });

  test('a registration, a change and an acknowledgement are not taken for one another', () => {
    const given = { version: 7, registration: storedRegistration('one') };
    const put = { kind: 'put', from: 'a', put: given } as const;
    const [registration, change] = [sealed.sealRegistration(given), sealed.sealChange(put)];
    const acknowledgement = sealed.sealAcknowledgement('a#1', { from: 'b#1', version: 7 });
    expect(sealed.openRegistration('one', registration)).toEqual(given);
    expect(sealed.openChange(change)).toEqual(put);
    expect(sealed.openAcknowledgement('a#1', acknowledgement)).toEqual({ from: 'b#1', version: 7 });
    // What is inside fits the other place: only where it was sealed for tells them apart.
    expect(sealed.openAcknowledgement('one', registration)).toBeNull();
    expect(sealed.openAcknowledgement('a#12', acknowledgement)).toBeNull();
    expect(sealed.openRegistration('one', change)).toBeNull();
    expect(sealed.openChange(registration)).toBeNull();
  });
});
