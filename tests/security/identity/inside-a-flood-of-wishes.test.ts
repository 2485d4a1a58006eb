// Must not happen: a sandbox buries a person, or the gateway, under requests; crowds out what another asks; or its words do
// something to who reads them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { askInside, type InsideAnswer, lookOn } from '../../support/inside-client.ts';
import type { Door } from '../../support/tunnel-client.ts';

let ground: AttackGround;
let leave: () => void;

beforeAll(async () => {
  ground = await openAttackGround({ limits: { requests_per_minute: 60 } });
  leave = lookOn(ground.gateway.gateway);
});

afterAll(async () => {
  leave();
  await ground.stop();
});

const questions = () => ground.gateway.gateway.admin.questions.list();
const accessRequest = (door: Door, host: string, reason = 'please'): Promise<InsideAnswer> =>
  askInside(door, 'POST /requests.json', { body: { host, reason } });

describe('accessRequests are few, short and text', () => {
  test('words that would drive a page or a terminal stay words', async () => {
    const door = await ground.anotherSandbox();
    const reason = '<img src=x onerror=alert(1)>\u001b]0;owned\u0007\r\nHTTP/1.1 200 OK\u202e';
    const told = await accessRequest(door, 'words.example', reason);
    expect(told.status).toBe(202);
    const asked = questions().find(({ host }) => host === 'words.example')!;
    expect(asked.reason).toBe('<img src=x onerror=alert(1)> ]0;owned HTTP/1.1 200 OK');
    const page = await askInside(door, 'GET /requests');
    expect(page.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    expect(page.text).not.toMatch(/[^\P{C}\n]/u);
  });

  test('a flood is bounded, counts as requests, and leaves room for others', async () => {
    const before = questions().length;
    const door = await ground.anotherSandbox();
    const codes = new Map<string, number>();
    for (let batch = 0; batch < 8; batch++) {
      const sent = Array.from({ length: 10 }, (_, i) => accessRequest(door, `flood-${batch}-${i}.example`));
      for (const answer of await Promise.all(sent)) {
        const { code = 'taken' } = answer.json<{ code?: string }>();
        codes.set(`${answer.status} ${code}`, (codes.get(`${answer.status} ${code}`) ?? 0) + 1);
      }
    }
    expect([...codes.keys()].sort()).toEqual(['202 taken', '429 approval.too-many', '429 limit.rate']);
    expect(codes.get('202 taken')).toBe(10);
    expect(questions().length - before).toBe(10);
    const other = await ground.anotherSandbox();
    expect((await accessRequest(other, 'also.example')).status).toBe(202);
    // The same once more is the same question.
    expect((await accessRequest(other, 'also.example')).status).toBe(202);
    expect(questions().length - before).toBe(11);
  });

  test('a body without end is not read to its end', async () => {
    const door = await ground.anotherSandbox();
    const before = questions().length;
    const long = await askInside(door, 'POST /requests', { body: { host: 'long.example', reason: 'x'.repeat(600) } });
    const endless = await askInside(door, 'POST /requests', { body: 'x'.repeat(9_000) });
    expect([long.status, endless.status]).toEqual([400, 413]);
    expect(questions()).toHaveLength(before);
  });
});
