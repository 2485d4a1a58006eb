// Must not happen: a sandbox that has sent a credential somewhere reads it back on the door's own page, or has it shown to a
// person; also when nobody knew at that time that it was one.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { askInside, type InsideAnswer, lookOn } from '../../support/inside-client.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

const lateKey = 'late-key-0c4be17d93f2';
let ground: AttackGround;
let leave: () => void;

beforeAll(async () => {
  ground = await openAttackGround();
  leave = lookOn(ground.gateway.gateway);
  // What is used is known.
  await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
});

afterAll(async () => {
  leave();
  await ground.stop();
});

const refusedAt = (host: string, path: string): Promise<InsideAnswer> =>
  askInside(ground.gateway, `GET ${path}`, { origin: `http://${host}`, headers: { host } });

async function everythingTold(): Promise<string> {
  const ids = (await askInside(ground.gateway, 'GET /why.json')).json<{ refusals: { request_id: string }[] }>();
  const paths = [
    '/why',
    '/why.json',
    '/requests',
    '/requests.json',
    ...ids.refusals.map((one) => `/why/${one.request_id}`),
  ];
  const answers = await Promise.all(paths.map((path) => askInside(ground.gateway, `GET ${path}`)));
  return answers.map(({ text }) => text).join('\n');
}

describe('a credential does not come back by the page', () => {
  test('that stood in the path, the query or the host of what was refused', async () => {
    for (const [host, path] of [
      ['elsewhere.example', `/a/${plantedKey}`],
      ['elsewhere.example', `/b?key=${plantedKey}&${plantedKey}`],
      ['open.example', `/c/${plantedKey}`],
      [`${plantedKey}.example`, '/d'],
    ] as const) {
      expect((await refusedAt(host, path)).status).toBe(403);
    }
    const told = await everythingTold();
    for (const place of ['elsewhere.example/a/', 'elsewhere.example/b?key=…', '/c/']) expect(told).toContain(place);
    expect(told).not.toContain(plantedKey);
  });

  test('that became one only later', async () => {
    await refusedAt('elsewhere.example', `/e/${lateKey}`);
    const body = { url: `https://requested.example/f/${lateKey}`, reason: 'to try' };
    expect((await askInside(ground.gateway, 'POST /requests', { body })).status).toBe(202);
    const before = await everythingTold();
    expect(before).toContain(`/e/${lateKey}`);
    expect(before).toContain(`/f/${lateKey}`);
    await ground.gateway.setSecret('key', lateKey);
    await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
    const after = await everythingTold();
    expect(after).toContain('/e/');
    expect(after).toContain('/f/');
    expect(after).not.toContain(lateKey);
  });

  test('and is put before no person', async () => {
    const before = ground.gateway.gateway.admin.questions.list().length;
    for (const body of [
      { host: 'requested.example', reason: `my key is ${plantedKey}` },
      { url: `https://requested.example/${plantedKey}`, reason: 'please' },
    ]) {
      const { status, text } = await askInside(ground.gateway, 'POST /requests', { body });
      expect([status, text]).toEqual([403, expect.stringContaining('secret.value-outbound')]);
      expect(text).not.toContain(plantedKey);
    }
    expect(ground.gateway.gateway.admin.questions.list()).toHaveLength(before);
  });

  test('nor in a spelling that only the reading of the accessRequest unfolds', async () => {
    const twice = [...plantedKey].map((sign) => `%25${sign.charCodeAt(0).toString(16)}`).join('');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = `url=https://requested.example/unfolded/${twice}&reason=please`;
    expect((await askInside(ground.gateway, 'POST /requests', { body, headers })).status).toBe(202);
    const shown = JSON.stringify(ground.gateway.gateway.admin.questions.list());
    expect(shown).toContain('/unfolded/');
    expect(shown).not.toContain(plantedKey);
    expect(JSON.stringify(await ground.gateway.journal())).not.toContain(plantedKey);
  });
});
