import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basic } from '../../support/hand-made-flow.ts';
import { askPlainly } from '../../support/mtls-client.ts';
import { type KnownSandbox, type MtlsGround, openMtlsGround } from '../../support/mtls-ground.ts';
import { sendPlain } from '../../support/raw-client.ts';

let ground: MtlsGround;
let thief: KnownSandbox;
let byAddress: string;
let bySecret: string;
let both: KnownSandbox;
let trusted: string;

beforeAll(async () => {
  ground = await openMtlsGround();
  thief = await ground.register({ id: 'thief', proof: ['mtls'] });
  both = await ground.register({ id: 'both', proof: ['mtls', 'secret'] });
  // Every client here calls from this address: it is the victim's.
  byAddress = (await ground.registry.register({ id: 'by-address', container_ip: '127.0.0.1' })).record.id;
  bySecret = (await ground.registry.register({ id: 'by-secret' })).secret!;
  trusted = ground.identityCa.certificatePem;
});
afterAll(() => ground.stop());

const sending = (secret: string): string[] => [`Proxy-Authorization: ${secret}`];

describe('the holder of a certificate is that sandbox or nobody', () => {
  test('it is not the sandbox whose address it calls from', async () => {
    await askPlainly(ground.port, thief, { trusted });
    expect(ground.journal.at(-1)).toMatchObject({ sandbox: 'thief', code: 'upstream.connect' });
    // The same address without a certificate, at the ordinary door, is that sandbox.
    await sendPlain({ host: '127.0.0.1', port: ground.proxyPort }, plain);
    expect(ground.journal.at(-1)!.sandbox).toBe(byAddress);
  });

  test('it is not the sandbox whose secret it sends', async () => {
    await askPlainly(ground.port, thief, { trusted }, sending(basic('by-secret', bySecret)));
    expect(ground.journal.at(-1)!.sandbox).toBe('thief');
    await askPlainly(ground.port, thief, { trusted }, sending(basic('both', both.secret!)));
    expect(ground.journal.at(-1)!.sandbox).toBe('thief');
  });

  test('a stolen certificate without the secret that is listed beside it is refused, and so is the secret alone', async () => {
    expect(await askPlainly(ground.port, both, { trusted })).toMatch(/^HTTP\/1\.1 407 /);
    expect(await askPlainly(ground.port, both, { trusted }, sending(basic('both', bySecret)))).toMatch(
      /^HTTP\/1\.1 407 /,
    );
    const answer = await askPlainly(ground.port, both, { trusted }, sending(basic('both', both.secret!)));
    expect(answer).toMatch(/^HTTP\/1\.1 502 /);
    expect(ground.journal.at(-1)!.sandbox).toBe('both');
  });

  test('a certificate from an address that is listed beside it and is not the caller is refused', async () => {
    const elsewhere = await ground.register({ id: 'elsewhere', container_ip: '192.0.2.7', proof: ['mtls', 'ip'] });
    const answer = await askPlainly(ground.port, elsewhere, { trusted });
    expect(answer).toMatch(/^HTTP\/1\.1 407 /);
    expect(answer).toContain('"rule":"proof: ip"');
  });
});

const plain = 'GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\nConnection: close\r\n\r\n';
