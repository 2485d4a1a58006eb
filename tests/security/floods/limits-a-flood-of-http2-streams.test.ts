// Attack: so many requests under way on so many HTTP/2 connections that not all of them can be made to wait for their
// refusal, and each one that is answered at once is followed by another.
import type { ClientHttp2Session } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { hosts, type LimitsGround, openLimitsGround } from '../../support/limits-ground.ts';
import { askHttp2, openHttp2 } from '../../support/tunnel-client.ts';

const sessions = 16;
const streams = 100;

let ground: LimitsGround;

beforeAll(async () => {
  ground = await openLimitsGround({ requests_per_minute: 60, burst: 60 });
});

afterAll(() => ground.stop());

test('who has more waiting than may wait loses its connections, and others are served', async () => {
  const [noisy, quiet] = [await ground.sandbox(), await ground.sandbox()];
  const { caPath } = ground.gateway;
  const open = await Promise.all(Array.from({ length: sessions }, () => openHttp2(noisy, hosts.open, { caPath })));
  let isOver = false;
  let refused = 0;
  const askOn = async (session: ClientHttp2Session): Promise<void> => {
    while (!isOver && !session.destroyed) {
      const { headers } = await askHttp2(session, { ':path': '/' });
      if (Number(headers[':status']) === 429) refused++;
    }
  };
  for (const session of open) {
    session.on('error', () => {});
    for (let i = 0; i < streams; i++) askOn(session).catch(() => {});
  }
  const cutOff = (): number => open.filter(({ destroyed }) => destroyed).length;
  await eventually(() => cutOff() > 0, 'a session is ended');
  const calm = await openHttp2(quiet, hosts.open, { caPath });
  for (let i = 0; i < 10; i++) expect((await askHttp2(calm, { ':path': '/' })).body.toString()).toBe('ok');
  isOver = true;
  // Twenty at once, a thousand each second, and one for each connection, which is not told.
  expect(refused).toBeLessThan(20 * 1044);
  for (const session of [...open, calm]) session.destroy();
});
