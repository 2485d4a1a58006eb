import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { askPlainly, dialMtls, renewIdentity, type ShownIdentity } from '../../../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../../../support/mtls-ground.ts';
import { Wire } from '../../../../support/wire.ts';

const minuteMs = 60_000;
let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeEach(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});
afterEach(() => ground.stop());

function newKey(): { readonly line: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return {
    line: `${JSON.stringify({ public_key: pem })}\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function renew(shown: ShownIdentity, line = newKey().line) {
  return renewIdentity(ground.port, shown, trusted, line);
}

describe('a sandbox renews its identity over the door', () => {
  test('with a key of its own, and goes on with that', async () => {
    const { line, key } = newKey();
    const answer = await renew(sandbox, line);
    expect(Object.keys(answer!).sort()).toEqual(['certificate', 'expires_at']);
    const certificate = new X509Certificate(answer!.certificate!);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.subjectAltName).toBe(new X509Certificate(sandbox.certificate).subjectAltName);
    expect(Date.parse(answer!.expires_at!) - Date.now()).toBeGreaterThan(59 * minuteMs);
    const renewed = { certificate: answer!.certificate!, key };
    expect(await askPlainly(ground.port, renewed, { trusted })).toMatch(/^HTTP\/1\.1 502 /);
    expect(await renew(renewed)).toHaveProperty('certificate');
  });

  test('the operator finds it in the log', async () => {
    const answer = await renew(sandbox);
    expect(ground.reports).toEqual([
      { what: 'an identity was renewed', sandbox: 'one', address: '127.0.0.1', expires_at: answer!.expires_at },
    ]);
  });

  test('a line that comes in pieces is read whole', async () => {
    const wire = new Wire(await dialMtls(ground.port, sandbox, { trusted, alpn: 'sallyport-identity/1' }));
    const { line } = newKey();
    wire.send(line.slice(0, 40));
    await sleep(20);
    wire.send(line.slice(40));
    expect(JSON.parse(await wire.rest())).toHaveProperty('certificate');
  });

  test('renewing is no traffic: it moves the end of no registration', async () => {
    const before = sandbox.record.expiresAtMs;
    ground.clock.aheadMs = 30 * minuteMs;
    await renew(sandbox);
    expect(sandbox.record.expiresAtMs).toBe(before);
  });

  test('a final end is the end of every certificate', async () => {
    const end = Math.floor(Date.now() / 1000) * 1000 + 10 * minuteMs;
    const brief = await ground.register({ id: 'brief', proof: ['mtls'], expires_at: new Date(end).toISOString() });
    expect(Date.parse(brief.expires_at)).toBe(end);
    const answer = await renew(brief);
    expect(Date.parse(answer!.expires_at!)).toBe(end);
    expect(Date.parse(new X509Certificate(answer!.certificate!).validTo)).toBe(end);
    expect(brief.record.expiresAtMs).toBe(end);
    ground.clock.aheadMs = 11 * minuteMs;
    // The end is met here: every connection of the sandbox is cut with it, this one too.
    expect(await renew(brief)).toBeNull();
    expect(ground.journal.at(-1)).toMatchObject({ method: 'RENEW', code: 'sandbox.expired' });
    expect(await renew(brief)).toMatchObject({ code: 'sandbox.unknown' });
  });

  test('with a secret beside it the certificate alone renews, and is still worth nothing without the secret', async () => {
    const both = await ground.register({ id: 'both', proof: ['mtls', 'secret'] });
    const { line, key } = newKey();
    const answer = await renew(both, line);
    const renewed = { certificate: answer!.certificate!, key };
    expect(await askPlainly(ground.port, renewed, { trusted })).toMatch(/^HTTP\/1\.1 407 /);
  });
});

describe('what is not issued is refused in one line, and written down', () => {
  test.each([
    ['no JSON', 'hello\n'],
    ['another key', '{"key":"x"}\n'],
    ['more than a key', '{"public_key":"x","sandbox":"two"}\n'],
    ['two lines', '{"public_key":"x"}\n{"public_key":"x"}\n'],
    ['a line that does not end', 'x'.repeat(5000)],
    ['something that is no key', '{"public_key":"x"}\n'],
  ])('%s', async (_what, line) => {
    const answer = await renew(sandbox, line);
    expect(answer).toMatchObject({ code: 'malformed.syntax' });
    expect(answer!.hint).not.toBe('');
    expect(answer).not.toHaveProperty('certificate');
    expect(ground.journal.at(-1)).toMatchObject({
      method: 'RENEW',
      host: 'door.sallyport.internal',
      port: ground.port,
      path: '/identity',
      verdict: 'refused',
      code: 'malformed.syntax',
    });
    expect(ground.reports).toEqual([]);
  });

  test('more than ten in a minute, by each sandbox for itself', async () => {
    const other = await ground.register({ id: 'two', proof: ['mtls'] });
    for (let i = 0; i < 10; i++) expect(await renew(sandbox)).toHaveProperty('certificate');
    const answer = await renew(sandbox);
    expect(answer).toMatchObject({ code: 'limit.rate' });
    expect(answer!.error).toContain('10 times within a minute');
    expect(await renew(other)).toHaveProperty('certificate');
    ground.clock.aheadMs = minuteMs;
    expect(await renew(sandbox)).toHaveProperty('certificate');
  });

  test('keys that are none count as well', async () => {
    for (let i = 0; i < 10; i++) await renew(sandbox, '{"public_key":"x"}\n');
    expect(await renew(sandbox)).toMatchObject({ code: 'limit.rate' });
  });

  test('from another address, where the address is listed beside the certificate', async () => {
    const bound = await ground.register({ id: 'bound', container_ip: '192.0.2.9', proof: ['mtls', 'ip'] });
    expect(await renew(bound)).toMatchObject({ code: 'sandbox.proof-wrong' });
  });

  test('a fault of ours is told as one, without its cause', async () => {
    Object.assign(ground.identityCa, {
      issueIdentity: () => {
        throw new Error('planted');
      },
    });
    const answer = await renew(sandbox);
    expect(answer).toMatchObject({ code: 'internal.error' });
    expect(JSON.stringify(answer)).not.toContain('planted');
    expect(ground.journal.at(-1)!.reason).toContain('planted');
  });
});
