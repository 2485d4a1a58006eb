import { afterEach, describe, expect, test } from 'vitest';
import { readIdentity } from '../../../../src/sandbox/shim/identity.ts';
import { renewIdentity } from '../../../../src/sandbox/shim/renew-identity.ts';
import { type DoorOptions, openPretendDoor, type PretendDoor } from './pretend-door.ts';
import { makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
const identity = readIdentity(identities.identity());
let door: PretendDoor;

afterEach(() => door.close());

async function renewAt(options: DoorOptions): Promise<unknown> {
  door = await openPretendDoor(identities, options);
  return renewIdentity(door.endpoint, identity);
}

describe('a renewal', () => {
  test('brings a certificate for a fresh key, and the door was shown the old one', async () => {
    const keys: string[] = [];
    door = await openPretendDoor(identities, {
      onRenewal: (publicKey) => {
        keys.push(publicKey);
        return { certificate: identities.certify(publicKey, { until: 90 }), expires_at: 'x' };
      },
    });
    const renewed = await renewIdentity(door.endpoint, identity);
    const again = await renewIdentity(door.endpoint, renewed);
    expect(renewed.name).toBe(identity.name);
    expect(new Set([identity, renewed, again].map(({ files }) => files.key)).size).toBe(3);
    expect(new Set(keys).size).toBe(2);
    expect(door.seen.map(({ protocol }) => protocol)).toEqual(['sallyport-identity/1', 'sallyport-identity/1']);
    expect(renewed.files.ca).toBe(identities.ca);
  });

  test('that is refused says why, in the words of the gateway', async () => {
    const refused = { error: 'no such sandbox', code: 'sandbox.unknown', hint: 'Register it.' };
    await expect(renewAt({ onRenewal: () => refused })).rejects.toThrow(
      'the gateway refuses to renew it: no such sandbox (sandbox.unknown: Register it.)',
    );
  });

  test.each([
    ['something that is not JSON', 'what?\n', 'not JSON'],
    ['nothing of use', 'null\n', 'without a certificate'],
    ['no line', '{"certificate":', 'without an answer'],
    ['a line without end', 'x'.repeat(100_000), 'without end'],
  ])('that is answered with %s fails in words', async (_what, answer, words) => {
    await expect(renewAt({ onRenewal: () => answer })).rejects.toThrow(words);
  });

  test('at a door that does not take the certificate fails in words', async () => {
    await expect(renewAt({ ca: makeIdentities().ca })).rejects.toThrow(
      /did not take our certificate|without an answer/,
    );
  });
});
