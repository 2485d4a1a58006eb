import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';
import { eventually } from '../support/eventually.ts';

let ground: BrowserGround;
let page: Page;

beforeAll(async () => {
  ground = await openBrowserGround(
    {
      allow: [{ host: 'api.example.com' }, { host: 'pay.example.com', ask: true }],
      credentials: { spare: { hosts: ['spare.example.com'], inject: { bearer: true } } },
    },
    ['api.example.com', 'pay.example.com'],
  );
  await ground.gateway.setSecret('spare', 'spare-real-0123456789');
  await ground.gateway.register({ id: 'claude-fix-login', container_ip: '127.0.0.2' });
  await ground.gateway.register({ id: 'codex-docs', container_ip: '127.0.0.3' });
  ({ page } = await ground.visit());
});

afterAll(() => ground.stop());

describe('a page that does not hear from its gateway', () => {
  test('does not call it ready, nor look in a row of tabs as if nobody waited', async () => {
    const { page: left } = await ground.visit();
    const banner = left.getByRole('banner');
    expect(await banner.getByText('ready', { exact: true }).isVisible()).toBe(true);
    expect(await left.title()).toBe('Sallyport');
    await left.evaluate(`fetch('/api/leave', {method: 'POST', body: '{}', headers: {
      'content-type': 'application/json', 'x-sallyport-csrf': localStorage.getItem('sallyport-visit') }})`);
    await banner.getByText('this visit has ended').waitFor();
    expect(await banner.getByText('ready', { exact: true }).isVisible()).toBe(false);
    expect(await left.title()).toBe('Not live: Sallyport');
    await left.context().close();
  });

  test('does not say that there is nothing before it has heard what there is', async () => {
    const { page: lost } = await ground.visit();
    const nothing = ['Nobody waits', 'No sandbox is registered', 'Nothing was refused', 'None is configured'];
    await lost.route('**/api/**', (route) => route.abort());
    await lost.reload();
    await lost.getByRole('banner').getByText('reconnecting…').waitFor();
    for (const words of nothing) expect([words, await lost.getByText(words).isVisible()]).toEqual([words, false]);
    await lost.unroute('**/api/**');
    await lost.getByText('Nobody waits').waitFor();
    await lost.context().close();
  });
});

test('the age of a credential that nobody uses does not stand still', async () => {
  const age = page.getByRole('row', { name: /spare/ }).locator('td[data-label="Age"]');
  // Whatever the page is told of credentials when it opens has come by then.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const before = await age.textContent();
  await eventually(async () => (await age.textContent()) !== before, 'it grows', 10_000);
  expect(await age.textContent()).toMatch(/^\d+ (s|min)/);
});

test('a key that is held down does not answer the next question, which nobody has read', async () => {
  const paths = ['/v1/first', '/v1/second'];
  const cards = page.locator('.question');
  const clients: Promise<string>[] = [];
  for (const path of paths) {
    clients.push(ground.curl('127.0.0.2', `https://pay.example.com${path}`));
    await cards.filter({ hasText: path }).waitFor();
  }
  await page.keyboard.press('q');
  await page.keyboard.down('a');
  expect(await clients[0]).toBe('200');
  const second = cards.filter({ hasText: '/v1/second' });
  await eventually(async () => (await cards.count()) === 1, 'the first is answered');
  expect(await page.evaluate('document.activeElement.textContent')).toContain('/v1/second');
  await eventually(() => second.getByRole('button', { name: 'Approve once' }).isEnabled(), 'its buttons have rested');
  // A browser repeats a key that stays down.
  for (let i = 0; i < 5; i++) await page.keyboard.down('a');
  await page.keyboard.up('a');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await second.count()).toBe(1);
  await page.keyboard.press('d');
  expect(await clients[1]).toBe('403');
});

test('who revokes a sandbox with the keyboard does not lose the place when its card goes', async () => {
  const sandboxes = page.getByRole('region', { name: /^Sandboxes/ });
  const revoke = sandboxes.getByRole('button', { name: 'Revoke codex-docs' });
  await revoke.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Revoke codex-docs?' });
  await dialog.getByRole('button', { name: 'Revoke codex-docs', exact: true }).press('Enter');
  await revoke.waitFor({ state: 'detached' });
  await dialog.waitFor({ state: 'detached' });
  expect(await page.evaluate('document.activeElement.id')).toBe('sandboxes-title');
});

test('what failed on its way is not drawn as passed', async () => {
  const plot = page.locator('.plot', { has: page.getByRole('heading', { name: 'Requests' }) });
  expect(await plot.locator('.legend').textContent()).not.toContain('passed');
});
