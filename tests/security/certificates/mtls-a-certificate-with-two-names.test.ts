import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgeCertificate, identityExtensions } from '../../support/forged-certificate.ts';
import { askPlainly } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';

let ground: MtlsGround;
let one: KnownSandbox;
let two: KnownSandbox;

beforeAll(async () => {
  ground = await openMtlsGround();
  one = await ground.register({ id: 'one', proof: ['mtls'] });
  two = await ground.register({ id: 'two', proof: ['mtls'] });
});
afterAll(() => ground.stop());

const uri = (sandbox: KnownSandbox): string =>
  `URI:sallyport:sandbox/${sandbox.record.id}/${sandbox.record.certificateBinding}`;

/** Genuinely signed, but for these alternative names. */
async function attempt(names: string | null): Promise<string> {
  const kept = identityExtensions(one.record).filter((line) => !line.startsWith('subjectAltName'));
  const extensions = names === null ? kept : [...kept, `subjectAltName=${names}`];
  const forged = forgeCertificate({ signer: join(ground.directory, 'identity-ca'), extensions });
  return askPlainly(ground.port, forged, { trusted: ground.identityCa.certificatePem });
}

describe('a certificate must say one thing, in one form', () => {
  test('one name opens the door', async () => {
    expect(await attempt(uri(one))).toMatch(/^HTTP\/1\.1 502 /);
    expect(ground.journal.at(-1)!.sandbox).toBe('one');
  });

  const odd: [string, () => string | null][] = [
    ['two sandboxes', () => `${uri(one)},${uri(two)}`],
    ['a sandbox twice', () => `${uri(one)},${uri(one)}`],
    ['a sandbox and a host', () => `${uri(one)},DNS:door.sallyport.internal`],
    ['a host and a sandbox', () => `DNS:door.sallyport.internal,${uri(one)}`],
    ['a sandbox and a person', () => `${uri(one)},email:someone@example.com`],
    ['none', () => null],
    ['the scheme in capitals', () => uri(one).replace('sallyport:', 'SALLYPORT:')],
    ['the id in capitals', () => uri(one).replace('/one/', '/ONE/')],
    ['the id encoded', () => uri(one).replace('/one/', '/%6fne/')],
    ['no binding', () => 'URI:sallyport:sandbox/one/'],
    ['more after the binding', () => `${uri(one)}/x`],
    ['a query', () => `${uri(one)}?x`],
    ['an authority', () => uri(one).replace('sallyport:', 'sallyport://door/')],
    ['the same words as a host', () => uri(one).replace('URI:', 'DNS:')],
  ];
  test.each(odd)('%s: closed', async (_what, names) => {
    expect(await attempt(names())).toBe('closed');
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'sandbox.proof-wrong' });
    expect(ground.journal.at(-1)!.reason).toContain('a client without a valid certificate');
  });
});
