import { Decrypter, Encrypter, Stanza } from 'age-encryption';
import { describe, expect, test } from 'vitest';
import { passphraseIdentity } from '../../../../../src/stages/inject/sources/age-source.ts';

const salt = Buffer.alloc(16, 1).toString('base64').replace(/=+$/, '');
const body = new Uint8Array(32);

function unwrap(...stanzas: Stanza[]): Promise<Uint8Array | null> {
  return Promise.resolve(passphraseIdentity('a phrase').unwrapFileKey(stanzas));
}

describe('a file with a passphrase', () => {
  test.each(['a phrase', 'päss wörd', '日本', ' '])(
    '%j opens as it does with the library’s own way',
    async (phrase) => {
      const encrypter = new Encrypter();
      encrypter.setPassphrase(phrase);
      encrypter.setScryptWorkFactor(5);
      const file = await encrypter.encrypt('what is in it');
      const decrypter = new Decrypter();
      decrypter.addIdentity(passphraseIdentity(phrase));
      expect(await decrypter.decrypt(file, 'text')).toBe('what is in it');
    },
  );

  test('is told apart from one for an identity', async () => {
    expect(await unwrap(new Stanza(['X25519', salt], body))).toBeNull();
    expect(await unwrap()).toBeNull();
  });

  test('does not open with another phrase', async () => {
    expect(await unwrap(new Stanza(['scrypt', salt, '1'], body))).toBeNull();
  });

  test.each(['21', '64', '0', '-1', '1e1', '', '018'])(
    'never makes us work without end: work factor %j',
    async (factor) => {
      await expect(unwrap(new Stanza(['scrypt', salt, factor], body))).rejects.toThrow('its work factor is over 20');
    },
  );

  test('has no other way into it', async () => {
    const stanza = new Stanza(['scrypt', salt, '1'], body);
    await expect(unwrap(stanza, new Stanza(['X25519', salt], body))).rejects.toThrow('the only way');
    await expect(unwrap(stanza, stanza)).rejects.toThrow('the only way');
    expect(await unwrap(new Stanza(['X25519', salt], body), stanza)).toBeNull();
  });

  test.each([
    [['scrypt', 'AAAA', '1'], body],
    [['scrypt', salt, '1'], new Uint8Array(31)],
    [['scrypt', salt, '1'], new Uint8Array(33)],
  ])('case %#: is refused when its stanza is not valid', async (args, bytes) => {
    await expect(unwrap(new Stanza(args, bytes))).rejects.toThrow('stanza is not valid');
  });
});
