import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgeCertificate, identityExtensions } from '../../support/forged-certificate.ts';
import { askPlainly } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';

let ground: MtlsGround;
let sandbox: KnownSandbox;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
});
afterAll(() => ground.stop());

function attempt(certificate: string, key: string): Promise<string> {
  return askPlainly(ground.port, { certificate, key }, { trusted: ground.identityCa.certificatePem });
}

describe('a certificate of the identity CA that is not for clients does not open the door', () => {
  test("the door's own", async () => {
    const { cert, key } = ground.identityCa.issueDoorCertificate();
    expect(await attempt(cert, key)).toBe('closed');
    expect(ground.journal.at(-1)!.reason).toContain('INVALID_PURPOSE');
  });

  test.each(['serverAuth', 'codeSigning'])('one for %s, also when it names the sandbox', async (purpose) => {
    const extensions = identityExtensions(sandbox.record).map((line) => line.replace('clientAuth', purpose));
    const forged = forgeCertificate({ signer: join(ground.directory, 'identity-ca'), extensions });
    expect(await attempt(forged.certificate, forged.key)).toBe('closed');
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'sandbox.proof-wrong' });
    expect(ground.journal.at(-1)!.reason).toContain('INVALID_PURPOSE');
  });

  test('the same made for clients does', async () => {
    const extensions = identityExtensions(sandbox.record);
    const made = forgeCertificate({ signer: join(ground.directory, 'identity-ca'), extensions });
    expect(await attempt(made.certificate, made.key)).toMatch(/^HTTP\/1\.1 502 /);
  });
});
