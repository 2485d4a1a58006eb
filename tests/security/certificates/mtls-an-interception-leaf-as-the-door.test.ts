import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { forgeCertificate } from '../../support/forged-certificate.ts';
import { dialMtls } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';

let ground: MtlsGround;
let sandbox: KnownSandbox;
let impostor: Server | null = null;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
});
afterEach(() => {
  impostor?.close();
});
afterAll(() => ground.stop());

/** Dials a server with this certificate as a shim dials the door; resolves when it believed it. */
async function dialImpostor(certificate: string, key: string, servername = 'door.sallyport.internal'): Promise<string> {
  const server = createServer({ cert: certificate, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
    socket.on('error', () => {});
    socket.end();
  });
  server.on('tlsClientError', () => {});
  impostor = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return dialMtls(port, sandbox, { trusted: ground.identityCa.certificatePem, servername }).then(
    (socket) => {
      socket.destroy();
      return 'believed';
    },
    (error: NodeJS.ErrnoException) => `${error.code}: ${error.message}`,
  );
}

const forServers = (names: string): string[] => ['extendedKeyUsage=serverAuth', `subjectAltName=${names}`];

describe('nobody but the gateway passes for its mTLS door', () => {
  test('a leaf that the interception CA made for the very name of the door is refused by the client', async () => {
    const signer = join(ground.directory, 'ca');
    const leaf = forgeCertificate({ signer, extensions: forServers('DNS:door.sallyport.internal') });
    expect(await dialImpostor(leaf.certificate, leaf.key)).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });

  test('another sandbox cannot be the door with its own certificate', async () => {
    const other = await ground.register({ id: 'other', proof: ['mtls'] });
    expect(await dialImpostor(other.certificate, other.key)).toContain('INVALID_PURPOSE');
  });

  test('the certificate of the door is believed', async () => {
    const { cert, key } = ground.identityCa.issueDoorCertificate();
    expect(await dialImpostor(cert, key)).toBe('believed');
  });
});

describe('the identity CA cannot be used to intercept', () => {
  test.each(['api.example.com', 'sallyport.internal'])(
    'a certificate it signed for %s is believed by nobody',
    async (name) => {
      const signer = join(ground.directory, 'identity-ca');
      const leaf = forgeCertificate({ signer, extensions: forServers(`DNS:${name}`) });
      expect(await dialImpostor(leaf.certificate, leaf.key, name)).toContain('permitted subtree violation');
    },
  );
});
