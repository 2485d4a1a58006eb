// Seals bytes for a place that others can read and write: AES-256-GCM with a key made by HKDF-SHA256 from a secret handed in.
// The name of the place is sealed along, so that what was put in one place opens in no other. Never says why something did
// not open: whoever wrote it there could learn from that.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const version = 1;
/** Random for each seal: good for 2^32 of them with one secret (NIST SP 800-38D, 8.3), a hundred a second for a year. */
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes;
const hiddenBytes = 24;

export interface SealedBox {
  seal(name: string, plain: Uint8Array): Buffer;
  /** Null: it was not sealed with this secret, or not for this name, or was changed. */
  open(name: string, sealed: Uint8Array): Buffer | null;
  /** The same for the same text, and tells nobody without the secret what it was: for names that are secrets themselves. */
  hide(text: string): string;
}

/** `purpose` separates the keys of two uses of one secret. */
export function createSealedBox(secret: Uint8Array, purpose: string): SealedBox {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', `sallyport ${purpose} ${use}`, 32));
  const sealing = derive('seal');
  const hiding = derive('hide');
  return {
    seal(name, plain) {
      const head = Buffer.alloc(headBytes);
      head[0] = version;
      randomBytes(nonceBytes).copy(head, 1);
      const cipher = createCipheriv('aes-256-gcm', sealing, head.subarray(1), { authTagLength: tagBytes });
      cipher.setAAD(boundTo(name));
      const body = cipher.update(plain);
      cipher.final();
      return Buffer.concat([head, body, cipher.getAuthTag()]);
    },
    open(name, sealed) {
      if (sealed.length < headBytes + tagBytes || sealed[0] !== version) return null;
      const end = sealed.length - tagBytes;
      try {
        const nonce = sealed.subarray(1, headBytes);
        const decipher = createDecipheriv('aes-256-gcm', sealing, nonce, { authTagLength: tagBytes });
        decipher.setAAD(boundTo(name));
        decipher.setAuthTag(sealed.subarray(end));
        const plain = decipher.update(sealed.subarray(headBytes, end));
        decipher.final();
        return plain;
      } catch {
        return null;
      }
    },
    hide: (text) => createHmac('sha256', hiding).update(text).digest().subarray(0, hiddenBytes).toString('base64url'),
  };
}

/** The version is not encrypted, so it is bound too. */
function boundTo(name: string): Buffer {
  return Buffer.concat([Buffer.of(version), Buffer.from(name)]);
}
