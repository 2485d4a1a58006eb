import { describe, expect, test } from 'vitest';
import { hasEnded, isDue, readIdentity, renewalTime } from '../../../../src/sandbox/shim/identity.ts';
import { binding, makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
const minuteMs = 60_000;

describe('an identity', () => {
  test('names its sandbox, and when it begins and ends', () => {
    const identity = readIdentity(identities.identity({ id: 'builder-1', from: -10, until: 50 }));
    expect(identity.sandboxId).toBe('builder-1');
    expect(identity.name).toBe(`sallyport:sandbox/builder-1/${binding}`);
    expect(identity.validUntilMs - identity.validFromMs).toBe(60 * minuteMs);
  });

  test('is due at half of its life', () => {
    const identity = readIdentity(identities.identity({ from: -10, until: 50 }));
    expect(renewalTime(identity)).toBe(identity.validFromMs + 30 * minuteMs);
    expect(isDue(identity, identity.validFromMs + 29 * minuteMs)).toBe(false);
    expect(isDue(identity, identity.validFromMs + 30 * minuteMs)).toBe(true);
    expect(hasEnded(identity, identity.validUntilMs - 1)).toBe(false);
    expect(hasEnded(identity, identity.validUntilMs)).toBe(true);
  });

  test('whose parts do not belong together is refused in words', () => {
    const good = identities.identity();
    const other = makeIdentities();
    expect(() => readIdentity({ ...good, ca: other.ca })).toThrow('not signed by the CA in ca.pem');
    expect(() => readIdentity({ ...good, key: identities.identity().key })).toThrow('not the key of certificate.pem');
    expect(() => readIdentity({ ...good, ca: good.certificate })).toThrow('ca.pem is not the certificate of a CA');
    expect(() => readIdentity({ ...good, ca: good.ca + other.ca })).toThrow('exactly one certificate');
    expect(() => readIdentity({ ...good, certificate: 'nothing' })).toThrow('exactly one certificate');
    const { cert, key } = identities.door();
    expect(() => readIdentity({ certificate: cert, key, ca: good.ca })).toThrow('not made for a client');
    const forDoor = identities.door('door.sallyport.internal', 'clientAuth');
    expect(() => readIdentity({ certificate: forDoor.cert, key: forDoor.key, ca: good.ca })).toThrow(
      'names no sandbox',
    );
  });

  test('whose key cannot be read is refused without a word of it', () => {
    const good = identities.identity();
    const broken = good.key.replace(/[A-Za-z0-9]{8}/, 'AAAAAAAA');
    try {
      readIdentity({ ...good, key: broken });
      expect.unreachable();
    } catch (error) {
      const { message, cause } = error as Error;
      expect(message).toContain('key.pem');
      expect(message).not.toContain('AAAAAAAA');
      expect(cause).toBeUndefined();
    }
  });
});
