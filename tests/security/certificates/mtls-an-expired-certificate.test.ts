import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { grantIdentity } from '../../../src/stages/accept/tls/identity-ca.ts';
import { askPlainly, dialMtls, renewIdentity } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { Wire } from '../../support/wire.ts';

const minuteMs = 60_000;
let ground: MtlsGround;
let sandbox: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  sandbox = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});
beforeEach(() => {
  ground.clock.aheadMs = 0;
});
afterAll(() => ground.stop());

/** A genuine identity of the same registration, as it was made so long ago. */
function madeAgo(ms: number): ReturnType<typeof grantIdentity> {
  ground.clock.aheadMs = -ms;
  try {
    return grantIdentity(ground.identityCa, sandbox.record);
  } finally {
    ground.clock.aheadMs = 0;
  }
}

describe('a certificate opens the door for one hour', () => {
  test('within it', async () => {
    expect(await askPlainly(ground.port, madeAgo(58 * minuteMs), { trusted })).toMatch(/^HTTP\/1\.1 50[24] /);
  });

  test('not after it, neither to call nor to renew', async () => {
    const old = madeAgo(61 * minuteMs);
    expect(await askPlainly(ground.port, old, { trusted })).toBe('closed');
    expect(ground.journal.at(-1)).toMatchObject({
      sandbox: null,
      code: 'sandbox.proof-wrong',
      reason: 'a client without a valid certificate: from 127.0.0.1: CERT_HAS_EXPIRED',
    });
    expect(await renewIdentity(ground.port, old, trusted, '{"public_key":""}\n')).toBeNull();
  });

  test('not before it, should the clock have been wrong when it was made', async () => {
    expect(await askPlainly(ground.port, madeAgo(-7 * minuteMs), { trusted })).toBe('closed');
    expect(ground.journal.at(-1)!.reason).toContain('CERT_NOT_YET_VALID');
  });

  test('a connection that was let in stays: what counts from then on is the registration', async () => {
    const nearlyOver = madeAgo(60 * minuteMs - 3500);
    const wire = new Wire(await dialMtls(ground.port, nearlyOver, { trusted }));
    await sleep(Date.parse(nearlyOver.expires_at) - Date.now() + 1100);
    expect(await askPlainly(ground.port, nearlyOver, { trusted })).toBe('closed');
    wire.send('GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n');
    expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 502 /);
    wire.socket.destroy();
  });

  test('a registration that is over is no longer served on a connection that is open', async () => {
    const brief = await ground.register({
      id: 'brief',
      proof: ['mtls'],
      expires_at: new Date(Date.now() + 10 * minuteMs).toISOString(),
    });
    const wire = new Wire(await dialMtls(ground.port, brief, { trusted }));
    const request = 'GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n';
    wire.send(request);
    expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 502 /);
    ground.clock.aheadMs = 11 * minuteMs;
    wire.send(request);
    await wire.rest();
    expect(ground.journal.at(-1)).toMatchObject({ code: 'sandbox.expired', verdict: 'refused' });
  });
});
