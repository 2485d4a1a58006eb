import { connect } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WatchedPage } from '../support/browser.ts';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';
import { eventually } from '../support/eventually.ts';

const api = 'https://api.example.com';
let ground: BrowserGround;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  ground = await openBrowserGround({ allow: [{ host: 'api.example.com' }, { host: 'other.example.com' }] }, [
    'api.example.com',
    'other.example.com',
  ]);
  await ground.gateway.register({ id: 'claude-fix-login', container_ip: '127.0.0.2', repos: ['acme/web'] });
  await ground.gateway.register({ id: 'codex-docs', container_ip: '127.0.0.3' });
  watched = await ground.visit();
  page = watched.page;
});

afterAll(() => ground.stop());

const rows = () => page.getByRole('region', { name: 'Live feed' }).locator('tbody tr');
const sizes = (of: Page) =>
  of.evaluate<[number, number]>('[document.documentElement.scrollWidth, document.documentElement.clientWidth]');

describe('whoever has the page open', () => {
  test('sees a request as it happens, with its outcome in words', async () => {
    expect(await ground.curl('127.0.0.2', `${api}/v1/first`)).toBe('200');
    const row = rows().filter({ hasText: 'api.example.com/v1/first' });
    await row.waitFor();
    expect(await row.textContent()).toContain('claude-fix-login');
    expect(await row.textContent()).toContain('200 allowed');
  });

  test('narrows the feed by sandbox, by host and to what was refused', async () => {
    await ground.curl('127.0.0.3', 'https://other.example.com/v1/second');
    expect(await ground.curl('127.0.0.3', 'https://unknown.example.net/')).toBe('403');
    await rows().filter({ hasText: 'unknown.example.net' }).first().waitFor();
    const filters = page.getByRole('form', { name: 'Filter the feed' });

    await filters.getByLabel('Sandbox').selectOption('claude-fix-login');
    await eventually(
      async () => (await rows().filter({ hasText: 'codex-docs' }).count()) === 0,
      'only the one sandbox',
    );
    expect(await rows().filter({ hasText: '/v1/first' }).count()).toBe(1);
    await filters.getByLabel('Sandbox').selectOption('');

    await filters.getByLabel('Host').fill('OTHER.exa');
    expect(await rows().filter({ hasText: '/v1/second' }).count()).toBe(1);
    expect(await rows().filter({ hasText: '/v1/first' }).count()).toBe(0);
    await filters.getByLabel('Host').fill('');

    await filters.getByLabel('Refused only').check();
    expect(await rows().count()).toBe(await rows().filter({ hasText: 'refused' }).count());
    expect(await rows().filter({ hasText: 'unknown.example.net' }).count()).toBeGreaterThan(0);
    await filters.getByLabel('Refused only').uncheck();
  });

  test('sees what was refused grouped by its rule, and finds its requests from there', async () => {
    const group = page.getByRole('region', { name: 'Refused, by rule' }).getByRole('listitem').first();
    await group.getByText('unknown.example.net').first().waitFor();
    await group.getByRole('button').click();
    expect(await rows().filter({ hasNotText: 'domain.not-allowed' }).count()).toBe(0);
    await page.getByRole('button', { name: /Remove this filter/ }).click();
    expect(await rows().filter({ hasText: '/v1/first' }).count()).toBe(1);
  });

  test('opens a request into its trail, and can link to it', async () => {
    await rows().filter({ hasText: '/v1/first' }).click();
    const opened = page.getByRole('dialog', { name: 'Request' });
    const stages = opened.getByRole('list', { name: 'The way through the gateway' }).getByRole('listitem');
    await stages.first().waitFor();
    expect((await stages.locator('strong').allTextContents()).slice(0, 3)).toEqual(['accept', 'identify', 'authorize']);
    expect(await stages.last().textContent()).toMatch(/\d (µs|ms)/);
    expect(await opened.textContent()).toContain('allow[0]');
    expect(await opened.textContent()).toMatch(/sallyport\.yaml:\d+/);
    expect(page.url()).toMatch(/#request\/.+/);
    await page.reload();
    await stages.first().waitFor();
    await page.keyboard.press('Escape');
    await opened.waitFor({ state: 'detached' });
    await eventually(() => !page.url().includes('#request'), 'the address is that of the page again');
  });

  test('can pause the feed, and gets what came meanwhile', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await ground.curl('127.0.0.2', `${api}/v1/while-paused`);
    await page.getByRole('button', { name: /Go on \(\d+ new\)/ }).click();
    await rows().filter({ hasText: '/v1/while-paused' }).waitFor();
  });

  test('reaches everything with the keyboard alone', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('api.example');
    expect(await page.evaluate('document.activeElement.id')).toBe('filter-host');
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    const first = await page.evaluate<string>('document.activeElement.href');
    await page.keyboard.press('j');
    const second = await page.evaluate<string>('document.activeElement.href');
    expect(second).not.toBe(first);
    await page.keyboard.press('k');
    expect(await page.evaluate('document.activeElement.href')).toBe(first);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Request' }).waitFor();
    expect(page.url()).toBe(first);
    await page.keyboard.press('Escape');
    await eventually(async () => (await page.evaluate('document.activeElement.href')) === first, 'the focus is back');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Host').fill('');

    // Every stop of the Tab key has a name and can be seen.
    await page.evaluate('document.activeElement.blur()');
    const nameless = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('button, a, input, select, [tabindex="0"]')]
      .filter((one) => one.checkVisibility() && !one.disabled)
      .filter((one) => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.labels?.length || one.textContent.trim()))
      .map((one) => one.outerHTML)`);
    expect(nameless).toEqual([]);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none');
  });

  test('hears it with a screen reader: landmarks, headings, tables with captions, plots with values', async () => {
    for (const name of [
      'Waiting for you',
      'Traffic and cost',
      'Live feed',
      'Sandboxes',
      'Refused, by rule',
      'Credentials',
    ]) {
      await page.getByRole('region', { name }).waitFor();
      await page.getByRole('heading', { name, level: 2 }).waitFor();
    }
    await page.getByRole('table', { name: /Requests as they happen/ }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Outcome' }).count()).toBe(1);
    const plot = page.getByRole('slider', { name: 'Requests over time' });
    await eventually(async () => /\d+ requests?/.test((await plot.getAttribute('aria-valuetext')) ?? ''), 'its value');
    await page.getByText('The same as a table').click();
    await page
      .getByRole('table', { name: /Traffic and cost/ })
      .getByRole('rowheader')
      .first()
      .waitFor();
    await page.getByText('The same as a table').click();
  });
});

test('what a sandbox sends stays text, whatever it looks like', async () => {
  const tag = '<img src=x onerror=alert(1)>';
  await ground.curl('127.0.0.2', `${api}/${encodeURIComponent(tag)}/%E2%80%AEgnp.exe`);
  await ground.curl('127.0.0.2', `${api}/${'long/'.repeat(150)}`);
  for (const host of ['<script>alert(2)</script>', '"><svg/onload=alert(3)>', "javascript:alert('4')"])
    await sendHost(host);
  await sendHost(`${`${'l'.repeat(60)}.`.repeat(4)}example`);
  const row = rows().filter({ hasText: 'gnp.exe' });
  await row.waitFor();
  expect(await row.textContent()).toContain(`${tag}/⟨U+202E⟩gnp.exe`);
  await rows().filter({ hasText: '<script>' }).first().waitFor();
  await row.click();
  const opened = page.getByRole('dialog', { name: 'Request' });
  await opened.getByText('⟨U+202E⟩gnp.exe').first().waitFor();
  await opened.getByText('The record as it stands in the journal').click();
  await page.keyboard.press('Escape');
  expect(await page.locator('img, iframe, object, embed, main script, main svg [onload]').count()).toBe(0);
  expect(await page.evaluate('document.scripts.length')).toBe(1);
  const [needed, there] = await sizes(page);
  expect(needed).toBeLessThanOrEqual(there);
});

test('it fits a phone and is as dark as the system or its owner wants it', async () => {
  const phone = await ground.visit({
    viewport: { width: 360, height: 740 },
    colorScheme: 'dark',
    reducedMotion: 'reduce',
  });
  await phone.page.locator('tbody tr.row').first().waitFor();
  const [needed, there] = await sizes(phone.page);
  expect(needed).toBeLessThanOrEqual(there);
  expect(there).toBeLessThanOrEqual(360);
  const colour = () => phone.page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const dark = await colour();
  const button = phone.page.getByRole('button', { name: /^Colours/ });
  await button.click();
  expect(await button.textContent()).toBe('Light');
  expect(await colour()).not.toBe(dark);
  await phone.page.reload();
  expect(await button.textContent()).toBe('Light');
  await phone.page.locator('tbody tr.row').first().click();
  await phone.page.getByRole('list', { name: 'The way through the gateway' }).waitFor();
  const [opened] = await sizes(phone.page);
  expect(opened).toBeLessThanOrEqual(360);
  expect(phone.complaints).toEqual([]);
  await phone.page.context().close();
});

test('it comes back by itself when it has lost its gateway, and knows what happened meanwhile', async () => {
  const { page: lost } = await ground.visit();
  const banner = lost.getByRole('banner');
  // A gateway that is gone: neither the stream nor anything else is answered.
  await lost.route('**/api/**', (route) => route.abort());
  await lost.reload();
  await banner.getByText('reconnecting…').waitFor();
  await ground.curl('127.0.0.2', `${api}/v1/meanwhile`);
  await lost.unroute('**/api/**');
  await banner.getByText('live', { exact: true }).waitFor();
  await lost.getByText('api.example.com/v1/meanwhile').waitFor();
  await lost.context().close();
});

test('one page too many in a browser says so, and the end of a visit is said on all of them', async () => {
  const { page: first } = await ground.visit();
  await first.evaluate(`globalThis.others = [1, 2, 3].map(() => new EventSource('/api/events?word=' + localStorage.getItem('sallyport-visit')));
    Promise.all(others.map((one) => new Promise((resolve) => { one.onopen = resolve; })))`);
  const more = await first.context().newPage();
  await more.goto(`${ground.origin}/`);
  await more.getByRole('banner').getByText('too many of these pages are open').waitFor();
  await first.evaluate('others.forEach((one) => one.close())');
  await more.getByRole('banner').getByText('live', { exact: true }).waitFor();
  // What ends the visit on one of them ends it on all, and each says how to come back.
  await more.evaluate(`fetch('/api/leave', {method: 'POST', body: '{}', headers: {
    'content-type': 'application/json', 'x-sallyport-csrf': localStorage.getItem('sallyport-visit') }})`);
  for (const each of [first, more])
    await each.getByRole('banner').getByText('run `sallyport dashboard` for a new address').waitFor();
  await first.context().close();
});

test('the page had nothing to complain of all the while, and asked nobody but its gateway', () => {
  expect(watched.complaints).toEqual([]);
});

/** A request line that no client would send. */
function sendHost(host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: ground.gateway.port, localAddress: '127.0.0.2' });
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.resume();
    socket.end(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}
