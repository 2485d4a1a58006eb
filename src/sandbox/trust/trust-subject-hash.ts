// The name under which OpenSSL looks for a CA in a folder of certificates: X509_NAME_hash, what `openssl x509 -hash`
// prints. Made for the plain names that our own CAs have; any other is an error, never a wrong hash.
import { createHash, X509Certificate } from 'node:crypto';

export function subjectHash(certificatePem: string): string {
  const { subject } = new X509Certificate(certificatePem);
  const parts = subject.split('\n').map((line) => {
    const [, type = '', value = ''] = /^(\w+)=([\x20-\x7e]+)$/.exec(line) ?? [];
    const attribute = attributes[type];
    // A backslash escapes something, a plus may join two attributes into one.
    if (attribute === undefined || /[\\+]/.test(value))
      throw new Error(
        `the CA's subject ${JSON.stringify(subject)} is not plain: make it of CN, O and OU in plain letters`,
      );
    return set(sequence(Buffer.concat([objectId(attribute), utf8(canonical(value))])));
  });
  const digest = createHash('sha1').update(Buffer.concat(parts)).digest();
  return digest.readUInt32LE(0).toString(16).padStart(8, '0');
}

/** The last number of 2.5.4.N. */
const attributes: Readonly<Record<string, number>> = { CN: 3, O: 10, OU: 11 };

/** asn1_string_canon in OpenSSL's x_name.c: one blank between words, none around them, ASCII in lower case. */
function canonical(value: string): string {
  return value.trim().replace(/ +/g, ' ').toLowerCase();
}

function objectId(last: number): Buffer {
  return Buffer.from([0x06, 3, 0x55, 0x04, last]);
}

function utf8(value: string): Buffer {
  return tagged(0x0c, Buffer.from(value));
}

function sequence(content: Buffer): Buffer {
  return tagged(0x30, content);
}

function set(content: Buffer): Buffer {
  return tagged(0x31, content);
}

function tagged(tag: number, content: Buffer): Buffer {
  // RFC 5280 allows names of up to 64 characters, so the short form of the length is enough.
  if (content.length > 127) throw new Error('the CA has a name of more than 64 characters: make it shorter');
  return Buffer.concat([Buffer.from([tag, content.length]), content]);
}
