// Opens an age file that was encrypted with a passphrase (its scrypt stanza, age-encryption.org/v1). The library's own way
// would hold every request up for a second: its scrypt runs in JavaScript on the one thread there is. Here OpenSSL does the
// same work beside it. Never holds the passphrase longer than it is asked to.
import { createDecipheriv, scrypt } from 'node:crypto';
import type { Identity, Stanza } from 'age-encryption';

const label = 'age-encryption.org/v1/scrypt';
/** Each step doubles time and memory. age writes 18 (256 MiB for a moment), and reads no more than 22. */
const maxWorkFactor = 20;
const saltBytes = 16;
const tagBytes = 16;
const fileKeyBytes = 16;

export function passphraseIdentity(passphrase: string): Identity {
  return {
    async unwrapFileKey(stanzas: Stanza[]): Promise<Uint8Array | null> {
      const [stanza] = stanzas;
      if (stanza === undefined || stanza.args[0] !== 'scrypt') return null;
      // Whoever could add a recipient of his own beside it would know the file, too.
      if (stanzas.length !== 1) throw new Error('a passphrase must be the only way into it');
      const [, salt, workFactor] = stanza.args;
      const factor = /^[1-9][0-9]?$/.test(workFactor ?? '') ? Number(workFactor) : Number.NaN;
      if (!(factor <= maxWorkFactor)) throw new Error(`its work factor is over ${maxWorkFactor}`);
      const salted = Buffer.concat([Buffer.from(label), Buffer.from(salt ?? '', 'base64')]);
      if (salted.length !== label.length + saltBytes || stanza.body.length !== fileKeyBytes + tagBytes) {
        throw new Error('its scrypt stanza is not valid');
      }
      return open(await stretched(passphrase, salted, factor), stanza.body);
    },
  };
}

function stretched(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const N = 2 ** factor;
  const options = { N, r: 8, p: 1, maxmem: 128 * N * 8 + 1024 * 1024 };
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/** Null: another passphrase. */
function open(key: Buffer, body: Uint8Array): Uint8Array | null {
  // The nonce is all zeros: the key is for this one message.
  const decipher = createDecipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: tagBytes });
  decipher.setAuthTag(body.subarray(fileKeyBytes));
  const fileKey = decipher.update(body.subarray(0, fileKeyBytes));
  try {
    decipher.final();
    return fileKey;
  } catch {
    return null;
  }
}
