import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgeCertificate, identityExtensions } from '../../support/forged-certificate.ts';
import { askPlainly, type ShownIdentity } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { makeTestCa } from '../../support/test-ca.ts';

let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});

afterAll(() => ground.stop());

/** What the client got, and what the operator finds. */
async function attempt(shown: ShownIdentity | null): Promise<[string, string | null, string | null]> {
  const before = ground.journal.length;
  const got = await askPlainly(ground.port, shown, { trusted });
  expect(ground.journal).toHaveLength(before + 1);
  const { sandbox: who, code, reason, door } = ground.journal.at(-1)!;
  expect(who).toBeNull();
  expect(door).toMatch(/^mtls /);
  return [got, code, reason];
}

describe('only what the identity CA signed opens the mTLS door', () => {
  test('the identity that came with the registration does', async () => {
    // No far side here: that somebody is refused further in shows that the door was opened.
    const answer = await askPlainly(ground.port, sandbox, { trusted });
    expect(answer).toMatch(/^HTTP\/1\.1 50[24] /);
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: 'one' });
  });

  test('no certificate does not', async () => {
    const [got, code, reason] = await attempt(null);
    expect(got).toBe('closed');
    expect(code).toBe('sandbox.proof-missing');
    expect(reason).toBe('a client without a valid certificate: from 127.0.0.1: it showed none');
  });

  test('nor does one of the interception CA, whose key is not the same', async () => {
    const signer = dirname(ground.interceptionCa.certificatePath);
    const forged = forgeCertificate({ signer, extensions: identityExtensions(sandbox.record) });
    const [got, code, reason] = await attempt(forged);
    expect(got).toBe('closed');
    expect(code).toBe('sandbox.proof-wrong');
    expect(reason).toMatch(/^a client without a valid certificate: from 127\.0\.0\.1: \w+/);
  });

  test('nor one of another CA, also when that CA took the very same name', async () => {
    const other = dirname(makeTestCa().path);
    const extensions = identityExtensions(sandbox.record);
    expect((await attempt(forgeCertificate({ signer: other, extensions })))[0]).toBe('closed');
    const lookalike = join(ground.directory, 'lookalike');
    cpSync(other, lookalike, { recursive: true });
    const made = forgeCertificate({
      signer: null,
      subject: ground.identityCa.subject.replace('CN=', '/CN='),
      extensions: ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign'],
    });
    ground.file('lookalike/ca.pem', made.certificate);
    ground.file('lookalike/ca.key', made.key);
    const [got, code] = await attempt(forgeCertificate({ signer: lookalike, extensions }));
    expect(got).toBe('closed');
    expect(code).toBe('sandbox.proof-wrong');
  });

  test('nor one that signed itself', async () => {
    const forged = forgeCertificate({ signer: null, extensions: identityExtensions(sandbox.record) });
    expect((await attempt(forged)).slice(0, 2)).toEqual(['closed', 'sandbox.proof-wrong']);
  });

  test('nor one that a sandbox signed with the identity it was given', async () => {
    mkdirSync(join(ground.directory, 'sandbox'));
    ground.file('sandbox/ca.pem', sandbox.certificate);
    ground.file('sandbox/ca.key', sandbox.key);
    const other = await ground.register({ id: 'two', proof: ['mtls'] });
    const signer = join(ground.directory, 'sandbox');
    const { certificate, key } = forgeCertificate({ signer, extensions: identityExtensions(other.record) });
    const [got, code, reason] = await attempt({ certificate: `${certificate}${sandbox.certificate}`, key });
    expect([got, code]).toEqual(['closed', 'sandbox.proof-wrong']);
    expect(reason).toMatch(/INVALID_CA|UNABLE_TO_VERIFY|INVALID_PURPOSE|UNSPECIFIED/);
  });
});
