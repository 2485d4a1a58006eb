import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dialMtls, renewIdentity } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { Wire } from '../../support/wire.ts';

let ground: MtlsGround;
let thief: KnownSandbox;
let victim: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  thief = await ground.register({ id: 'thief', proof: ['mtls'] });
  victim = await ground.register({ id: 'victim', container_ip: '127.0.0.1', proof: ['mtls', 'ip'] });
  trusted = ground.identityCa.certificatePem;
});
afterAll(() => ground.stop());

const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();

function nameIn(certificate: string | undefined): string | undefined {
  return new X509Certificate(certificate ?? '').subjectAltName;
}

describe('a renewal is for whoever shows the certificate, whatever it asks for', () => {
  test('it carries the name of its own sandbox and binding, from the address of another', async () => {
    const answer = await renewIdentity(ground.port, thief, trusted, `${JSON.stringify({ public_key: publicKey })}\n`);
    expect(nameIn(answer?.certificate)).toBe(nameIn(thief.certificate));
    expect(nameIn(answer?.certificate)).not.toBe(nameIn(victim.certificate));
  });

  test.each(['sandbox', 'id', 'uri', 'subject_alt_name', 'binding', 'expires_at'])(
    'a field that would ask for more is refused, not ignored: %s',
    async (field) => {
      const line = `${JSON.stringify({ public_key: publicKey, [field]: 'victim' })}\n`;
      const answer = await renewIdentity(ground.port, thief, trusted, line);
      expect(answer).toMatchObject({ code: 'malformed.syntax' });
      expect(answer).not.toHaveProperty('certificate');
    },
  );

  test('without a certificate nothing is renewed', async () => {
    const asked = dialMtls(ground.port, null, { trusted, alpn: 'sallyport-identity/1' }).then(async (socket) => {
      const wire = new Wire(socket);
      wire.send(`${JSON.stringify({ public_key: publicKey })}\n`);
      return wire.rest();
    });
    expect(await asked.catch(() => '')).toBe('');
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'sandbox.proof-missing' });
  });

  test('the proxy protocol on a connection for renewals, and a renewal on one for the proxy, are refused', async () => {
    const renewal = await renewIdentity(ground.port, thief, trusted, 'CONNECT far.example:443 HTTP/1.1\r\n\r\n');
    expect(renewal).toMatchObject({ code: 'malformed.syntax' });
    const proxy = new Wire(await dialMtls(ground.port, thief, { trusted }));
    proxy.send(`${JSON.stringify({ public_key: publicKey })}\n`);
    expect(await proxy.rest()).toMatch(/^HTTP\/1\.1 400 /);
  });
});
