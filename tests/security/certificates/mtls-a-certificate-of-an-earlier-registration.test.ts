import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { askPlainly, dialMtls, renewIdentity } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { Wire } from '../../support/wire.ts';

let ground: MtlsGround;
let first: KnownSandbox;
let trusted: string;

beforeEach(async () => {
  ground = await openMtlsGround();
  first = await ground.register({ id: 'one', proof: ['mtls'] });
  trusted = ground.identityCa.certificatePem;
});
afterEach(() => ground.stop());

describe('a certificate is worth nothing after its registration', () => {
  test('an unregistered sandbox is refused in words, though its certificate is in force for an hour', async () => {
    await ground.registry.remove('one');
    const answer = await askPlainly(ground.port, first, { trusted });
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain('one is not registered any more');
    expect(answer).toContain('sallyport register');
  });

  test('a later registration of the same id does not take the earlier certificate', async () => {
    await ground.registry.remove('one');
    const second = await ground.register({ id: 'one', proof: ['mtls'] });
    const answer = await askPlainly(ground.port, first, { trusted });
    expect(answer).toMatch(/^HTTP\/1\.1 407 /);
    expect(answer).toContain('this certificate was not made for the registration that one has now');
    expect(await askPlainly(ground.port, second, { trusted })).toMatch(/^HTTP\/1\.1 502 /);
  });

  test.each([
    ['address', { container_ip: '127.0.0.1' }],
    ['secret', {}],
  ])('nor does one that proves itself by %s and by no certificate', async (_how, registration) => {
    await ground.registry.remove('one');
    const { secret } = await ground.registry.register({ id: 'one', ...registration });
    const fields = secret === null ? [] : [`Proxy-Authorization: Bearer ${secret}`];
    expect(await askPlainly(ground.port, first, { trusted }, fields)).toMatch(/^HTTP\/1\.1 407 /);
  });

  test('its connections are cut at once: idle before a request, between two, and while it renews', async () => {
    const idle = new Wire(await dialMtls(ground.port, first, { trusted }));
    const used = new Wire(await dialMtls(ground.port, first, { trusted }));
    const renewing = new Wire(await dialMtls(ground.port, first, { trusted, alpn: 'sallyport-identity/1' }));
    used.send('GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n');
    await used.answer();
    await eventually(() => ground.connections.size === 3, 'three connections are open');
    await ground.registry.remove('one');
    await Promise.all([idle.rest(), used.rest(), renewing.rest()]);
    expect(ground.connections.size).toBe(0);
  });

  test('a connection that is open keeps nothing of the earlier registration', async () => {
    const wire = new Wire(await dialMtls(ground.port, first, { trusted }));
    const request = 'GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n';
    wire.send(request);
    expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 502 /);
    // As if it had not been cut.
    for (const connection of ground.connections) Object.assign(connection, { sandboxId: null });
    await ground.registry.remove('one');
    await ground.register({ id: 'one', proof: ['mtls'] });
    wire.send(request);
    expect((await wire.answer()).head).toMatch(/^HTTP\/1\.1 407 /);
  });

  test('it cannot be renewed', async () => {
    await ground.registry.remove('one');
    const line = '{"public_key":"x"}\n';
    expect(await renewIdentity(ground.port, first, trusted, line)).toMatchObject({ code: 'sandbox.unknown' });
    await ground.register({ id: 'one', proof: ['mtls'] });
    expect(await renewIdentity(ground.port, first, trusted, line)).toMatchObject({ code: 'sandbox.proof-wrong' });
  });
});
