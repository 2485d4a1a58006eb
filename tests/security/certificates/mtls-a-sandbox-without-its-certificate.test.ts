import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basic } from '../../support/hand-made-flow.ts';
import { type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { type RawAnswer, sendPlain } from '../../support/raw-client.ts';

let ground: MtlsGround;

beforeAll(async () => {
  ground = await openMtlsGround();
});
afterAll(() => ground.stop());

/** At the ordinary proxy door, where nobody can show a certificate. */
function ask(...fields: string[]): Promise<RawAnswer> {
  const lines = ['GET http://plain.example/ HTTP/1.1', 'Host: plain.example', 'Connection: close', ...fields];
  return sendPlain({ host: '127.0.0.1', port: ground.proxyPort }, `${lines.join('\r\n')}\r\n\r\n`);
}

describe('a sandbox that must show a certificate is not served without one', () => {
  test.each([
    ['its address', { container_ip: '127.0.0.1', proof: ['ip', 'mtls'] }],
    ['its address, which is no proof', { container_ip: '127.0.0.1', proof: ['mtls'] }],
    ['its secret', { proof: ['mtls', 'secret'] }],
    ['its secret from its address', { container_ip: '127.0.0.1', proof: ['secret', 'mtls', 'ip'] }],
    ['its id alone', { proof: ['mtls'] }],
  ])('by %s', async (_how, registration) => {
    const { secret } = await ground.registry.register({ id: 'one', ...registration });
    const answer = await ask(`Proxy-Authorization: ${basic('one', secret ?? 'x')}`);
    expect(answer.statuses).toEqual([407]);
    expect(answer.text).toContain('must come through the mTLS door');
    expect(answer.text).toContain('sallyport shim');
    expect(ground.journal.at(-1)).toMatchObject({ code: 'sandbox.proof-missing', rule: 'proof: mtls' });
    await ground.registry.remove('one');
  });

  test('a field that says there was a certificate is only a field', async () => {
    const { record } = await ground.registry.register({ id: 'one', container_ip: '127.0.0.1', proof: ['ip', 'mtls'] });
    const uri = `sallyport:sandbox/one/${record.certificateBinding}`;
    const answer = await ask(
      `X-Forwarded-Client-Cert: URI=${uri}`,
      'X-SSL-Client-Verify: SUCCESS',
      `Client-Cert: :${Buffer.from(uri).toString('base64')}:`,
    );
    expect(answer.statuses).toEqual([407]);
    await ground.registry.remove('one');
  });
});
