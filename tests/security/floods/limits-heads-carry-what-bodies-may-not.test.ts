// Attack: where bytes are limited, send them in the fields and the target of requests without a body, and have them sent back in
// the fields of answers.
import { afterEach, expect, test } from 'vitest';
import { type BudgetGround, openBudgetGround } from '../../support/budget-ground.ts';

const large = 'x'.repeat(12_000);
const asked = { host: 'open.example', method: 'GET', body: '' };
let ground: BudgetGround;

afterEach(() => ground.stop());

test.each([
  ['a field', { path: '/', headers: { 'x-carried': large } }],
  ['the target', { path: `/?${large}`, headers: {} }],
])('what goes out in %s counts as what is sent', async (_what, request) => {
  ground = await openBudgetGround({ limits: { upload_bytes_per_minute: 10_000 } }, (_request, response) => {
    response.end();
  });
  const sandbox = await ground.sandbox();
  expect((await sandbox.ask({ ...asked, ...request })).status).toBe(200);
  const refused = await sandbox.ask({ ...asked, ...request });
  expect(refused.status).toBe(429);
  expect(refused.body.toString()).toContain('limits.upload_bytes_per_minute');
  expect(ground.upstream.seen).toHaveLength(1);
});

test('what comes back in a field counts as what is answered', async () => {
  ground = await openBudgetGround({ limits: { download_bytes_per_minute: 10_000 } }, (_request, response) => {
    response.setHeader('x-carried', large);
    response.end();
  });
  const sandbox = await ground.sandbox();
  expect((await sandbox.ask(asked)).status).toBe(200);
  const refused = await sandbox.ask(asked);
  expect(refused.status).toBe(429);
  expect(refused.body.toString()).toContain('limits.download_bytes_per_minute');
});

test('heads of the usual size are no matter', async () => {
  const limits = { upload_bytes_per_minute: 10_000, download_bytes_per_minute: 10_000 };
  ground = await openBudgetGround({ limits }, (_request, response) => {
    response.end();
  });
  const sandbox = await ground.sandbox();
  for (let n = 0; n < 10; n++) expect((await sandbox.ask(asked)).status).toBe(200);
});
