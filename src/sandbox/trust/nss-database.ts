// A certificate database as NSS keeps it in ~/.pki/nssdb, with the sandbox's CA as a trusted root: Chromium, headless shells,
// Electron and whatever else is built on NSS read it, and `certutil` need not be installed. Certificates alone: no key.
import { createHash } from 'node:crypto';
import { sqliteFile } from './sqlite-file.ts';

/** The content of cert9.db. */
export function nssDatabase(certificate: Buffer, label: string): Buffer {
  const { serial, issuer, subject, publicKey } = namesOf(certificate);
  const own = { a1: yes, a2: no, a170: yes, a81: issuer, a82: serial };
  const rows: Readonly<Record<string, Buffer>>[] = [
    // CKO_CERTIFICATE, of type X.509.
    {
      ...own,
      a0: number(1),
      a80: number(0),
      a3: Buffer.from(label),
      a11: certificate,
      a101: subject,
      a102: digest('sha1', publicKey),
    },
    // CKO_NSS_TRUST: servers are trusted by it, clients, mail and code are not.
    {
      ...own,
      a0: number(0xce534353),
      a3: setToNothing,
      ace536358: trustedDelegator,
      ace536359: mustVerify,
      ace53635a: mustVerify,
      ace53635b: mustVerify,
      ace536360: no,
      ace5363b4: digest('sha1', certificate),
      ace5363b5: digest('md5', certificate),
    },
  ];
  return sqliteFile({
    table: 'nssPublic',
    // The first is the object's number, of which any will do.
    columns: ['id', ...attributes.map((name) => `a${name}`)],
    definition: 'id PRIMARY KEY UNIQUE ON CONFLICT ABORT',
    rows: rows.map((row, index) => [index + 1, ...attributes.map((name) => row[`a${name}`] ?? null)]),
    indexes: { issuer: 'a81', subject: 'a101', label: 'a3', ckaid: 'a102' },
  });
}

const yes = Buffer.from([1]);
const no = Buffer.from([0]);
/** What NSS writes for an attribute that is there and empty. */
const setToNothing = Buffer.from([0xa5, 0x00, 0x5a]);
const trustedDelegator = number(0xce534352);
const mustVerify = number(0xce534353);

/** The columns that NSS makes, in its order: attributes of PKCS #11 by number. It asks for all of them. */
const attributes: readonly string[] = [
  ...'0 1 2 3 10 11 12 80 81 82 83 84 85 86 87 88 89 8a 8b 90'.split(' '),
  ...'100 101 102 103 104 105 106 107 108 109 10a 10b 10c 110 111'.split(' '),
  ...'120 121 122 123 124 125 126 127 128 129 130 131 132 133 134'.split(' '),
  ...'160 161 162 163 164 165 166 170 180 181 200 201 202 210 300 301 302'.split(' '),
  ...'400 401 402 403 404 405 406 480 481 482 500 501 502 503 40000211 40000212 80000001'.split(' '),
  ...'ce534351 ce534352 ce534353 ce534354 ce534355 ce534356 ce534357 ce534358'.split(' '),
  ...'ce534364 ce534365 ce534366 ce534367 ce534368 ce534369 ce534373 ce534374'.split(' '),
  ...'ce536351 ce536352 ce536353 ce536354 ce536355 ce536356 ce536357 ce536358 ce536359'.split(' '),
  ...'ce53635a ce53635b ce53635c ce53635d ce53635e ce53635f ce536360 ce5363b4 ce5363b5 d5a0db00'.split(' '),
];

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function digest(algorithm: 'sha1' | 'md5', content: Buffer): Buffer {
  return createHash(algorithm).update(content).digest();
}

interface Names {
  readonly serial: Buffer;
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: Buffer;
}

/** The parts by which NSS finds a certificate, each with its own tag and length. */
function namesOf(certificate: Buffer): Names {
  const [toBeSigned] = partsIn(contentOf(certificate));
  const parts = partsIn(contentOf(toBeSigned ?? Buffer.alloc(0)));
  // The version is left out in the oldest kind of certificate.
  const [serial, , issuer, , subject, publicKey] = parts[0]?.[0] === 0xa0 ? parts.slice(1) : parts;
  if (serial === undefined || issuer === undefined || subject === undefined || publicKey === undefined)
    throw new Error("the sandbox's CA is not a certificate in DER");
  return { serial, issuer, subject, publicKey };
}

function partsIn(content: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; ) {
    const { start, length } = headOf(content.subarray(at));
    parts.push(content.subarray(at, at + start + length));
    at += start + length;
  }
  return parts;
}

function contentOf(part: Buffer): Buffer {
  const { start, length } = headOf(part);
  return part.subarray(start, start + length);
}

/** Of a DER value with a tag of one byte. */
function headOf(part: Buffer): { readonly start: number; readonly length: number } {
  const first = part[1] ?? 0;
  if (first < 0x80) return { start: 2, length: first };
  const bytes = first & 0x7f;
  if (bytes === 0 || bytes > 3) throw new Error("the sandbox's CA is not a certificate in DER");
  return { start: 2 + bytes, length: part.readUIntBE(2, bytes) };
}
