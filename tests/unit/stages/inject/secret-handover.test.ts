import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../src/path/secret.ts';
import { KnownSecrets } from '../../../../src/stages/inject/scrub/known-secrets.ts';
import { carryKnown, noteCarried, tellOfNew, valuesSetByHand } from '../../../../src/stages/inject/secret-handover.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';
import { makeSecretStore } from '../../../support/secret-store.ts';

const value = 'a-value-long-enough';

describe('values on their way to another process', () => {
  test('those that were set by hand go with the name of their credential, and no others', () => {
    const { credentials } = handMadePolicy({
      credentials: [
        { name: 'set', hosts: ['api.example.com'] },
        { name: 'unset', hosts: ['api.example.com'] },
      ],
    } as never);
    const secrets = makeSecretStore();
    secrets.configure(credentials);
    secrets.set('set', `${value}\n`);
    expect(valuesSetByHand(secrets)).toEqual([['set', value]]);
    secrets.remove('set');
    expect(valuesSetByHand(secrets)).toEqual([]);
  });

  test('a value that is new here is told once, together with the others of its turn', async () => {
    const known = new KnownSecrets();
    const told: unknown[] = [];
    tellOfNew(known, (secrets) => told.push(secrets));
    known.note(new Secret('one', value, { expiresAtMs: 5, login: true }));
    known.note(new Secret('two', `${value}-2`));
    known.note(new Secret('one', value));
    await Promise.resolve();
    expect(told).toEqual([
      [
        { name: 'one', value, login: true, expiresAtMs: 5 },
        { name: 'two', value: `${value}-2`, login: false, expiresAtMs: null },
      ],
    ]);
  });

  test('what comes from another process is known, and is not told again', async () => {
    const there = new KnownSecrets();
    there.note(new Secret('one', value));
    const here = new KnownSecrets();
    const told: unknown[] = [];
    tellOfNew(here, (secrets) => told.push(secrets));
    noteCarried(here, JSON.parse(JSON.stringify(carryKnown(there))));
    await Promise.resolve();
    expect(carryKnown(here)).toEqual(carryKnown(there));
    expect(told).toEqual([]);
    here.note(new Secret('own', `${value}-own`));
    await Promise.resolve();
    expect(told).toHaveLength(1);
  });
});
