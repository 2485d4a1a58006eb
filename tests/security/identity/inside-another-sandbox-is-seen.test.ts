// Must not happen: what one sandbox was refused, or asked a person for, is told to another, or to somebody who is none.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { askInside, type InsideAsk, lookOn } from '../../support/inside-client.ts';
import { runClient } from '../../support/run-client.ts';
import type { Door } from '../../support/tunnel-client.ts';

let ground: AttackGround;
let leave: () => void;
let other: Door;
let refused: string;
let asked: string;

beforeAll(async () => {
  ground = await openAttackGround();
  leave = lookOn(ground.gateway.gateway);
  other = await ground.anotherSandbox();
  const refusal = await askInside(ground.gateway, 'GET /plan-of-one', {
    origin: 'http://refused-to-one.example',
    headers: { host: 'refused-to-one.example' },
  });
  refused = refusal.json<{ request_id: string }>().request_id;
  const body = { host: 'requested-by-one.example', reason: 'the reason of one' };
  asked = (await askInside(ground.gateway, 'POST /requests.json', { body })).json<{ id: string }>().id;
});

afterAll(async () => {
  leave();
  await ground.stop();
});

const isOfOne = /plan-of-one|refused-to-one|requested-by-one|the reason of one/;

describe('a sandbox is told of itself alone', () => {
  test('and that one is told all of it', async () => {
    for (const path of ['/why', `/why/${refused}`, '/requests', `/requests/${asked}`]) {
      const { status, text } = await askInside(ground.gateway, `GET ${path}`);
      expect([path, status]).toEqual([path, 200]);
      expect(text).toMatch(isOfOne);
    }
  });

  test('another has nothing, not by the id and not by saying who it is', async () => {
    const one = await ground.gateway.admin('GET', '/internal/containers/127.0.0.1');
    const { id } = one.json<{ id: string }>();
    const tries: readonly (readonly [string, InsideAsk?])[] = [
      ['GET /why'],
      ['GET /why.json?n=20'],
      [`GET /why/${refused}`],
      [`GET /why/${refused}.json`],
      ['GET /requests'],
      [`GET /requests/${asked}`],
      [`GET /requests/${asked}.json`],
      ['GET /policy'],
      ['GET /'],
      [`GET /why?sandbox=${id}`, { headers: { 'x-sandbox': id, 'x-forwarded-for': '127.0.0.1', from: id } }],
      ['GET /why', { headers: { 'proxy-authorization': `Basic ${Buffer.from(`${id}:`).toString('base64')}` } }],
      [`GET /${id}/why`],
    ];
    for (const [what, ask] of tries) {
      const { status, text } = await askInside(other, what, ask);
      expect([what, text]).not.toEqual([what, expect.stringMatching(isOfOne)]);
      expect([what, status]).toEqual([what, expect.toSatisfy((told) => [200, 404, 403, 407].includes(told as number))]);
    }
    expect((await askInside(other, `GET /why/${refused}`)).status).toBe(404);
    expect((await askInside(other, `GET /requests/${asked}`)).status).toBe(404);
    expect((await askInside(other, 'GET /why')).text).toBe('Nothing was refused to this sandbox lately.\n');
  });

  test('a stranger gets what every stranger gets, and nothing of the page', async () => {
    for (const url of ['http://sallyport.internal/', 'https://sallyport.internal/agents.md']) {
      const from = ['-sSk', '-m', '30', '-x', ground.gateway.proxyUrl, '--interface', '127.0.0.9'];
      const { stdout } = await runClient('curl', [...from, '-w', '%{http_code} %{http_connect}', url]);
      expect(stdout).toMatch(/403/);
      expect(stdout).not.toMatch(/agents\.md|\/requests|Network access/);
    }
  });

  test('who is registered anew in the same place is not told of who was there before', async () => {
    await ground.gateway.admin('DELETE', '/internal/containers/127.0.0.1');
    await ground.gateway.register();
    for (const path of ['/why', `/why/${refused}`, '/requests', `/requests/${asked}`]) {
      expect((await askInside(ground.gateway, `GET ${path}`)).text).not.toMatch(isOfOne);
    }
    expect(ground.gateway.gateway.admin.questions.list()).toEqual([]);
  });
});
