// Writes X.509 certificates: a CA's own and the leaves it signs, for servers and for clients. ECDSA P-256 with SHA-256 only. Signing is
// synchronous: under a tenth of a millisecond, less than handing it to another thread. The encoding is
// @peculiar/asn1-x509's; this file never writes DER by hand and never stores anything.
import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_nameConstraints,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  NameConstraints,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const commonName = '2.5.4.3';
/** RFC 5280 appendix A, ub-common-name. */
const maxCommonName = 64;

/** Who signs: a CA's name and key identifier exactly as they stand in its certificate. */
export interface Issuer {
  readonly name: Name;
  /** null when its certificate carries none; the leaf then names none either. */
  readonly keyIdentifier: Buffer | null;
  readonly key: KeyObject;
}

/** A public key ready to be put into certificates. */
export interface Subject {
  readonly publicKeyInfo: SubjectPublicKeyInfo;
  readonly keyIdentifier: Buffer;
}

export function subjectOf(publicKey: KeyObject): Subject {
  const publicKeyInfo = AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
  // RFC 5280 4.2.1.2 (1). SHA-1 here is a label, not a protection.
  const keyIdentifier = createHash('sha1').update(Buffer.from(publicKeyInfo.subjectPublicKey)).digest();
  return { publicKeyInfo, keyIdentifier };
}

/** Reads the issuer's name and key identifier out of its own certificate, so that the chain matches byte for byte. */
export function issuerOf(certificateDer: Buffer, key: KeyObject): Issuer {
  const { subject, extensions } = AsnConvert.parse(certificateDer, Certificate).tbsCertificate;
  const found = extensions?.find((extension) => extension.extnID === id_ce_subjectKeyIdentifier);
  const identifier = found ? AsnConvert.parse(found.extnValue.buffer, SubjectKeyIdentifier) : null;
  return { name: subject, keyIdentifier: identifier ? Buffer.from(identifier.buffer) : null, key };
}

/**
 * A self-signed CA certificate (DER) that may sign leaves and nothing that signs in turn. `onlyServer`: the one server it
 * may vouch for, by that name and by no address; null: any.
 */
export function issueCaCertificate(
  name: string,
  subject: Subject,
  key: KeyObject,
  from: Date,
  until: Date,
  onlyServer: string | null = null,
): Buffer {
  return issue(nameOf(name), { name: nameOf(name), keyIdentifier: subject.keyIdentifier, key }, subject, from, until, [
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
    ...(onlyServer === null ? [] : [extension(id_ce_nameConstraints, true, namesUnder(onlyServer))]),
  ]);
}

function namesUnder(server: string): NameConstraints {
  const subtree = (base: { dNSName: string } | { iPAddress: string }): GeneralSubtree =>
    new GeneralSubtree({ base: new GeneralName(base) });
  return new NameConstraints({
    permittedSubtrees: new GeneralSubtrees([subtree({ dNSName: server })]),
    excludedSubtrees: new GeneralSubtrees([subtree({ iPAddress: '0.0.0.0/0' }), subtree({ iPAddress: '::/0' })]),
  });
}

/** A client certificate (DER) for the holder that `uri` names. Its common name tells nothing and is no host name. */
export function issueClientCertificate(uri: string, subject: Subject, issuer: Issuer, from: Date, until: Date): Buffer {
  return issue(nameOf('Sallyport sandbox'), issuer, subject, from, until, [
    ...clientUsage,
    extension(
      id_ce_subjectAltName,
      false,
      new SubjectAlternativeName([new GeneralName({ uniformResourceIdentifier: uri })]),
    ),
  ]);
}

/** A server certificate (DER) for one DNS name, or for one address. */
export function issueLeafCertificate(host: string, subject: Subject, issuer: Issuer, from: Date, until: Date): Buffer {
  // A name that is too long for a common name has an empty subject, and then RFC 5280 wants the SAN critical.
  const named = host.length <= maxCommonName;
  const san = new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });
  return issue(named ? nameOf(host) : new Name(), issuer, subject, from, until, [
    ...leafUsage,
    extension(id_ce_subjectAltName, !named, new SubjectAlternativeName([san])),
  ]);
}

export function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function issue(name: Name, issuer: Issuer, subject: Subject, from: Date, until: Date, own: Extension[]): Buffer {
  const signature = new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const extensions = [...own, extension(id_ce_subjectKeyIdentifier, false, octets(SubjectKeyIdentifier, subject))];
  if (issuer.keyIdentifier) {
    const keyIdentifier = octets(KeyIdentifier, { keyIdentifier: issuer.keyIdentifier });
    extensions.push(extension(id_ce_authorityKeyIdentifier, false, new AuthorityKeyIdentifier({ keyIdentifier })));
  }
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: toArrayBuffer(newSerialNumber()),
    signature,
    issuer: issuer.name,
    validity: new Validity({ notBefore: from, notAfter: until }),
    subject: name,
    subjectPublicKeyInfo: subject.publicKeyInfo,
    extensions: new Extensions(extensions),
  });
  const signed = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), issuer.key);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: signature,
    signatureValue: toArrayBuffer(signed),
  });
  return Buffer.from(AsnConvert.serialize(certificate));
}

/** 127 bits: the first byte is 0x40 to 0x7f, so the number is positive and its encoding minimal as it stands. */
function newSerialNumber(): Buffer {
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial;
}

function nameOf(text: string): Name {
  const value = new AttributeValue({ utf8String: text });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: commonName, value })])]);
}

function extension(extnID: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function octets<T>(make: new (bytes: ArrayBuffer) => T, from: { readonly keyIdentifier: Buffer }): T {
  return new make(toArrayBuffer(from.keyIdentifier));
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/** The same for every leaf, so encoded once. */
const leafUsage = usageFor(id_kp_serverAuth);
const clientUsage = usageFor(id_kp_clientAuth);

function usageFor(purpose: string): readonly Extension[] {
  return [
    extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([purpose])),
  ];
}
