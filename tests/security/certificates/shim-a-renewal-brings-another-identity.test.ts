// Attack: a gateway that is not itself, or has a fault, answers a renewal with a certificate that is not the sandbox's: the shim
// would go on as somebody else, or with a key that somebody else has.
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { readIdentity } from '../../../src/sandbox/shim/identity.ts';
import { IdentityKeeper } from '../../../src/sandbox/shim/identity-keeper.ts';
import { renewIdentity } from '../../../src/sandbox/shim/renew-identity.ts';
import { openPretendDoor, type PretendDoor } from '../../unit/sandbox/shim/pretend-door.ts';
import { makeIdentities } from '../../unit/sandbox/shim/pretend-identities.ts';

const identities = makeIdentities();
const others = makeIdentities();
const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' });
let door: PretendDoor;

afterEach(() => door.close());

test.each([
  ['for another key', () => identities.certify(foreign.publicKey), 'not for our key'],
  ['from another CA', (key: string) => others.certify(key), 'not from our CA'],
  ['for another sandbox', (key: string) => identities.certify(key, { id: 'other' }), 'sandbox/other'],
  ['for another registration', (key: string) => identities.certify(key, { binding: 'f'.repeat(32) }), 'ffff'],
  ['that is the one of a server', () => identities.door().cert, 'not for our key'],
  ['that is the CA itself', () => identities.ca, 'not for our key'],
  ['that has ended', (key: string) => identities.certify(key, { from: -60, until: -1 }), 'has ended'],
  ['with a second one behind it', (key: string) => identities.certify(key) + identities.ca, 'not for our key'],
])('a certificate %s is not taken, and the old one stays in use', async (_what, certificate, words) => {
  door = await openPretendDoor(identities, {
    onRenewal: (key) => ({ certificate: certificate(key), expires_at: 'x' }),
  });
  const old = readIdentity(identities.identity({ from: -50, until: 10 }));
  const said: unknown[] = [];
  const kept: unknown[] = [];
  const keeper = new IdentityKeeper(old, {
    renew: (identity) => renewIdentity(door.endpoint, identity),
    load: async () => old,
    keep: async (identity) => void kept.push(identity),
    log: { info: () => {}, error: () => {}, warn: (message, detail) => void said.push(message, detail?.error) },
  });
  await keeper.start();
  keeper.stop();
  expect(keeper.current).toBe(old);
  expect(kept).toEqual([]);
  expect(said.map(String).join('\n')).toContain('could not be renewed; it is good for another 10 min');
  expect(said.map(String).join('\n')).toContain(words);
});
