import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { type AppGround, openAppGround } from './github-app-ground.ts';

let ground: AppGround;
afterEach(() => ground.stop());

async function listing(): Promise<Record<string, unknown>> {
  const reply = await ground.gateway.admin('GET', '/internal/credentials');
  const { credentials } = reply.json<{ credentials: Record<string, unknown>[] }>();
  return credentials.find(({ name }) => name === 'github')!;
}

describe('a GitHub App that cannot be used', () => {
  test('a file that is no key: the sandbox learns that the operator must act, the operator learns what', async () => {
    ground = await openAppGround('not-a-key-but-secret-all-the-same');
    const one = await ground.sandbox(['acme/widgets']);
    const { status, body } = await one.fetchRefs('acme/widgets');
    expect(status).toBe(502);
    expect(body).toContain('the operator of the gateway must fix its github-app source');
    expect(body).not.toContain('PEM');
    expect(await listing()).toMatchObject({ source: 'github-app', error: expect.stringContaining('PEM') });
    expect(ground.upstream.seen).toEqual([]);
  });

  test('a key of another App: GitHub is asked once and then left alone', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    ground = await openAppGround(other.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString());
    const one = await ground.sandbox(['acme/widgets']);
    for (let i = 0; i < 5; i++) expect((await one.fetchRefs('acme/widgets')).status).toBe(502);
    expect(ground.upstream.seen).toHaveLength(1);
    expect(await listing()).toMatchObject({ set: true, error: expect.stringContaining('check the id of the App') });
  });

  test('a mint that is refused: neither the answer, the journal nor the listing show proof, key or token', async () => {
    ground = await openAppGround();
    const one = await ground.sandbox(['acme/widgets']);
    const two = await ground.sandbox(['acme/gears']);
    expect((await one.fetchRefs('acme/widgets')).status).toBe(200);
    ground.github.mintStatus = 422;
    const refused = await two.fetchRefs('acme/gears');
    expect(refused.status).toBe(502);
    const listed = JSON.stringify(await listing());
    expect(listed).toContain('status 422');
    const journal = JSON.stringify(await ground.gateway.journal());
    expect(journal).toContain('credential.unreadable');
    const proofs = ground.upstream.seen
      .map(({ headers }) => String(headers.authorization))
      .filter((one) => one.length > 99);
    expect(proofs.length).toBeGreaterThan(2);
    const secrets = [
      ...proofs.flatMap((proof) => proof.replace('Bearer ', '').split('.').slice(1)),
      ...ground.keyText.split('\n').filter((line) => line.length > 30),
      ground.minted[0]!.token,
    ];
    for (const secret of secrets) {
      for (const text of [refused.body, listed, journal]) expect(text).not.toContain(secret);
    }
  });
});
