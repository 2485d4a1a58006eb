import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askPlainly, dialMtls } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { sendPlain } from '../../support/raw-client.ts';
import { runClient } from '../../support/run-client.ts';

let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});
afterAll(() => ground.stop());

describe('the mTLS door speaks TLS 1.3 and nothing else', () => {
  test('which keeps the certificate, and so the name of the sandbox, from whoever listens', async () => {
    const socket = await dialMtls(ground.port, sandbox, { trusted });
    expect(socket.getProtocol()).toBe('TLSv1.3');
    socket.destroy();
  });

  test('TLS 1.2 with the right certificate is closed on', async () => {
    expect(await askPlainly(ground.port, sandbox, { trusted, maxVersion: 'TLSv1.2' })).toBe('closed');
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'malformed.tls' });
    expect(ground.journal.at(-1)!.reason).toContain('unsupported protocol');
  });

  test('openssl is told the same', async () => {
    const files = ['-cert', ground.file('c.pem', sandbox.certificate), '-key', ground.file('k.pem', sandbox.key)];
    const dial = ['s_client', '-connect', `127.0.0.1:${ground.port}`, ...files];
    const run = await runClient('openssl', [...dial, '-tls1_2']);
    expect(run.code).not.toBe(0);
    expect(`${run.stdout}${run.stderr}`).toMatch(/protocol version/);
    const fine = await runClient('openssl', [...dial, '-tls1_3', '-CAfile', ground.identityCa.certificatePath]);
    expect(fine.stdout).toContain('Verify return code: 0 (ok)');
  });

  test('HTTP without TLS is not answered', async () => {
    const door = { host: '127.0.0.1', port: ground.port };
    const answer = await sendPlain(door, 'GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n');
    expect(answer.statuses).toEqual([]);
    expect(answer.closed).toBe(true);
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: null, code: 'malformed.tls' });
  });
});
