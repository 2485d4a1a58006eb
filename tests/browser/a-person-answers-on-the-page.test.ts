import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WatchedPage } from '../support/browser.ts';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';
import { eventually } from '../support/eventually.ts';
import { contrastsOf } from '../support/page-contrast.ts';

const asked = 'https://pay.example.com';
let ground: BrowserGround;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  ground = await openBrowserGround({ allow: [{ host: 'api.example.com' }, { host: 'pay.example.com', ask: true }] }, [
    'api.example.com',
    'pay.example.com',
    'docs.example.com',
  ]);
  await ground.gateway.register({ id: 'claude-fix-login', container_ip: '127.0.0.2' });
  await ground.gateway.register({ id: 'codex-docs', container_ip: '127.0.0.3' });
  watched = await ground.visit();
  page = watched.page;
});

afterAll(() => ground.stop());

const waiting = () => page.getByRole('region', { name: /^Waiting for you/ });
const card = (path: string): Locator => waiting().getByRole('article').filter({ hasText: path });
const arrived = (path: string) => ground.upstream.seen.filter(({ url }) => url === path).length;

/** Whether the trail of this request draws the step as one that said no, in its list and in its bar. */
async function wasRefusedAt(stage: string, path: string): Promise<boolean> {
  await page.locator('#rows tr').filter({ hasText: path }).click();
  const step = page.getByRole('list', { name: 'The way through the gateway' }).getByRole('listitem');
  const one = step.filter({ has: page.getByText(stage, { exact: true }) });
  await one.waitFor();
  const marked = [one, page.locator(`.bar .part[title^="${stage}:"]`)].map((part) => part.getAttribute('class'));
  const [inList, inBar] = (await Promise.all(marked)).map((classes) => /\bnot\b/.test(classes ?? ''));
  expect(inBar).toBe(inList);
  await page.keyboard.press('Escape');
  await one.waitFor({ state: 'detached' });
  return inList === true;
}

describe('a request that waits', () => {
  test('is shown with all a person needs, and completes when it is approved once', async () => {
    const client = ground.curl('127.0.0.2', `${asked}/v1/refunds`, '-X', 'POST', '-d', 'amount=5');
    await card('/v1/refunds').waitFor();
    const text = await card('/v1/refunds').textContent();
    for (const part of ['claude-fix-login', 'POST', 'pay.example.com', 'allow[1]', 'Credential', 'Time left']) {
      expect(text).toContain(part);
    }
    expect(arrived('/v1/refunds')).toBe(0);
    expect(await page.title()).toBe('(1) Sallyport');
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/icon-waiting.svg');
    await page.locator('#announcer', { hasText: 'Waiting for you: claude-fix-login' }).waitFor({ state: 'attached' });
    await card('/v1/refunds').getByRole('button', { name: 'Approve once' }).click();
    expect(await client).toBe('200');
    expect(arrived('/v1/refunds')).toBe(1);
    await card('/v1/refunds').waitFor({ state: 'detached' });
    await waiting().getByText('approved once').waitFor();
    await eventually(async () => (await page.title()) === 'Sallyport', 'nobody waits');
    expect(await wasRefusedAt('ask', '/v1/refunds')).toBe(false);
  });

  test('is refused when it is denied, by a key on the focused card, and never arrives', async () => {
    const client = ground.curl('127.0.0.2', `${asked}/v1/transfers`, '-X', 'POST', '-d', 'all');
    await card('/v1/transfers').waitFor();
    await page.keyboard.press('q');
    await page.keyboard.press('d');
    expect(await client).toBe('403');
    expect(arrived('/v1/transfers')).toBe(0);
    await card('/v1/transfers').waitFor({ state: 'detached' });
    expect(await wasRefusedAt('ask', '/v1/transfers')).toBe(true);
  });

  test('opens the way for some minutes, which can be ended before their time', async () => {
    const client = ground.curl('127.0.0.2', `${asked}/v1/charges`);
    await card('/v1/charges').getByRole('spinbutton', { name: 'Minutes' }).fill('5');
    await card('/v1/charges').getByRole('button', { name: 'For 5 minutes' }).click();
    expect(await client).toBe('200');
    expect(await ground.curl('127.0.0.2', `${asked}/v1/charges`)).toBe('200');
    const approval = page
      .getByRole('region', { name: /^Sandboxes/ })
      .getByRole('listitem')
      .filter({ hasText: '/v1/charges' });
    await approval.getByText('left').waitFor();
    await approval.getByRole('button', { name: /^End the approval/ }).click();
    await approval.waitFor({ state: 'detached' });
    const again = ground.curl('127.0.0.2', `${asked}/v1/charges`);
    await card('/v1/charges').getByRole('button', { name: 'Deny' }).click();
    expect(await again).toBe('403');
  });

  test('becomes a line of the policy, which is shown before it is written', async () => {
    const before = readFileSync(ground.gateway.configPath, 'utf8');
    const client = ground.curl('127.0.0.3', `${asked}/v1/invoices`);
    await card('/v1/invoices').getByRole('button', { name: 'Always…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Always allow this?' });
    const shown = dialog.locator('pre .line');
    await shown.first().waitFor();
    const file = (await dialog.locator('.preview code').first().textContent()) ?? '';
    expect(ground.gateway.configPath.endsWith(file.split('/').at(-1) ?? '?')).toBe(true);
    expect(readFileSync(ground.gateway.configPath, 'utf8')).toBe(before);
    const lines = (await shown.allTextContents()).map((line) => line.replace(/^\s*\d+\+ /, ''));
    expect(lines.join('\n')).toContain('/v1/invoices');
    await dialog.getByRole('button', { name: 'Write this line' }).click();
    expect(await client).toBe('200');
    await dialog.waitFor({ state: 'detached' });
    const after = readFileSync(ground.gateway.configPath, 'utf8');
    expect(after).toContain(lines.join('\n'));
    expect(await ground.curl('127.0.0.2', `${asked}/v1/invoices`)).toBe('200');
  });

  test('shows all of a long path: nobody agrees to what is cut off', async () => {
    const client = ground.curl('127.0.0.2', `${asked}/v1/${'a/'.repeat(400)}drop-all`);
    const long = waiting().getByRole('article').filter({ hasText: 'drop-all' });
    await long.getByText('Whole path').waitFor();
    const [needed = 0, there = 0] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]');
    expect(needed).toBeLessThanOrEqual(there);
    expect((await long.boundingBox())?.height).toBeLessThan(500);
    await long.getByRole('button', { name: 'Deny' }).click();
    expect(await client).toBe('403');
  });

  test('shows what it asks the server to pretend, as text, whatever it looks like; and all of it can be read', async () => {
    const pretended = `DELETE <img src=x onerror=alert(1)> \u202egnp`;
    const field = `X-HTTP-Method-Override: ${pretended}`;
    const more = ['-X', 'POST', '-d', 'x', '-H', field, '-A', '<script>alert(2)</script>'];
    const client = ground.curl('127.0.0.2', `${asked}/v1/pretend`, ...more);
    await card('/v1/pretend').waitFor();
    const text = (await card('/v1/pretend').textContent()) ?? '';
    expect(text).toContain('POST (as DELETE <IMG SRC=X ONERROR=ALERT(1)>');
    // A field is bytes: a character of several is shown as those, and none of them is unseen.
    expect(text).not.toMatch(/[\p{C}\u202e]/u);
    expect(text).toContain('⟨U+0080⟩');
    expect(await page.locator('img, main script').count()).toBe(0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect((await contrastsOf(page)).faint).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: null });
    await card('/v1/pretend').getByRole('button', { name: 'Deny' }).click();
    expect(await client).toBe('403');
    expect(arrived('/v1/pretend')).toBe(0);
  });

  test('says in its own place what went wrong when its answer cannot be given', async () => {
    const client = ground.curl('127.0.0.2', `${asked}/v1/late`);
    await card('/v1/late').waitFor();
    await page.route('**/api/questions/*', (route) =>
      route.fulfill({ status: 409, json: { error: 'this cannot be done', hint: 'Do something else.' } }),
    );
    await card('/v1/late').getByRole('button', { name: 'Approve once' }).click();
    await card('/v1/late').getByText('this cannot be done Do something else.').waitFor();
    await page.unroute('**/api/questions/*');
    await card('/v1/late').getByRole('button', { name: 'Deny' }).click();
    expect(await client).toBe('403');
  });
});

test('what an agent asks for, and why, stays text; approved for a while, it can go there', async () => {
  const reason = '<b>urgent</b>';
  const accessRequest = JSON.stringify({ url: 'https://docs.example.com/guide', method: 'GET', reason });
  const sent = ground.curl('127.0.0.2', 'http://sallyport.internal/requests', '--json', accessRequest);
  expect(await sent).toBe('202');
  const asks = card('docs.example.com/guide');
  await asks.getByText(reason).waitFor();
  expect(await asks.locator('b').count()).toBe(0);
  await asks.getByRole('button', { name: 'For 15 minutes' }).click();
  await asks.waitFor({ state: 'detached' });
  expect(await ground.curl('127.0.0.2', 'https://docs.example.com/guide')).toBe('200');
  expect(await ground.curl('127.0.0.2', 'https://docs.example.com/other')).toBe('403');
});

test('a sandbox that is revoked on the page has its next request refused', async () => {
  expect(await ground.curl('127.0.0.3', 'https://api.example.com/before')).toBe('200');
  const sandboxes = page.getByRole('region', { name: /^Sandboxes/ });
  await sandboxes.getByRole('button', { name: 'Revoke codex-docs' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke codex-docs?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await ground.curl('127.0.0.3', 'https://api.example.com/still')).toBe('200');
  await sandboxes.getByRole('button', { name: 'Revoke codex-docs' }).click();
  await dialog.getByRole('button', { name: 'Revoke codex-docs', exact: true }).click();
  await sandboxes.getByText('codex-docs is revoked.').waitFor();
  expect(await ground.curl('127.0.0.3', 'https://api.example.com/after')).toMatch(/^40[37]$/);
  expect(arrived('/after')).toBe(0);
  await sandboxes.getByRole('button', { name: 'Revoke codex-docs' }).waitFor({ state: 'detached' });
  expect(await ground.curl('127.0.0.2', 'https://api.example.com/other')).toBe('200');
});

test('nothing but the one answer we broke ourselves was complained of', () => {
  expect(watched.complaints.filter((complaint) => !complaint.includes('409'))).toEqual([]);
});
