// What a client can negotiate at the door, tried one by one with openssl: AEAD with forward secrecy passes; CBC, CCM with a
// short tag, no forward secrecy and finite fields do not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runClient } from '../../support/run-client.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ allow: [{ host: 'api.example.com' }] });
  await gateway.register();
});
afterAll(() => gateway.stop());

async function handshake(...options: string[]): Promise<boolean> {
  const door = ['-proxy', `127.0.0.1:${gateway.port}`, '-connect', 'api.example.com:443'];
  const trust = ['-CAfile', gateway.caPath, '-verify_return_error', '-brief'];
  const run = await runClient('openssl', ['s_client', ...door, ...trust, ...options], {
    input: '',
    env: { PATH: process.env.PATH! },
    timeoutMs: 60_000,
  });
  return run.code === 0;
}

const old = (suite: string): string[] => ['-tls1_2', '-cipher', `${suite}:@SECLEVEL=0`];
const now = (suite: string): string[] => ['-tls1_3', '-ciphersuites', suite, '-cipher', 'ALL:@SECLEVEL=0'];

describe('is spoken', () => {
  test.each([
    now('TLS_AES_128_GCM_SHA256'),
    now('TLS_AES_256_GCM_SHA384'),
    now('TLS_CHACHA20_POLY1305_SHA256'),
    old('ECDHE-ECDSA-AES128-GCM-SHA256'),
    old('ECDHE-ECDSA-AES256-GCM-SHA384'),
    old('ECDHE-ECDSA-CHACHA20-POLY1305'),
    ['-tls1_3', '-groups', 'X25519'],
    ['-tls1_3', '-groups', 'P-256'],
    ['-tls1_3', '-groups', 'P-384'],
  ])('%s %s %s', async (...options) => {
    expect(await handshake(...options)).toBe(true);
  });
});

describe('is not spoken', () => {
  test.each([
    now('TLS_AES_128_CCM_8_SHA256'),
    now('TLS_AES_128_CCM_SHA256'),
    old('ECDHE-ECDSA-AES128-SHA'),
    old('ECDHE-ECDSA-AES256-SHA384'),
    old('ECDHE-ECDSA-AES128-CCM8'),
    old('ECDHE-ECDSA-AES256-CCM8'),
    old('AES128-GCM-SHA256'),
    ['-tls1_3', '-groups', 'ffdhe2048'],
    ['-tls1_3', '-groups', 'ffdhe8192'],
    ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'],
  ])('%s %s %s', async (...options) => {
    expect(await handshake(...options)).toBe(false);
  });
});
