import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FeedBatch } from '../../src/admin/dashboard/shapes.ts';
import { WatchView } from '../../src/cli/watch-view.ts';
import type { WatchedPage } from '../support/browser.ts';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/fake-upstream.ts';
import { contrastsOf } from '../support/page-contrast.ts';
import { flood } from '../support/request-flood.ts';

const values = ['sk-ant-oat01-real-0123456789', 'sk-ant-ort01-real-0123456789', 'pay-real-0123456789'] as const;
const hosts = ['api.example.com', 'reads.example.com', 'pay.example.com', 'api.anthropic.com'];
let folder: string;
let ground: BrowserGround;
let watched: WatchedPage;
let page: Page;

const answer: Answer = (request, response) => {
  if (request.url === '/broken') return void request.socket.destroy();
  response.setHeader('content-type', 'application/json');
  const usage = { input_tokens: 1_000, output_tokens: 500 };
  response.end(JSON.stringify(request.url === '/v1/messages' ? { type: 'message', model: 'pretend-1', usage } : {}));
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-figures-'));
  const login = join(folder, 'login.json');
  const [accessToken, refreshToken] = values;
  const expiresAt = Date.now() + 8 * 3_600_000;
  writeFileSync(login, JSON.stringify({ claudeAiOauth: { accessToken, refreshToken, expiresAt, scopes: [] } }), {
    mode: 0o600,
  });
  ground = await openBrowserGround(
    {
      allow: [
        { host: 'api.example.com' },
        { host: 'reads.example.com', methods: ['GET'] },
        { host: 'pay.example.com' },
        { preset: 'anthropic' },
      ],
      credentials: {
        anthropic: { source: { login: { agent: 'claude', file: login } } },
        payments: { hosts: ['pay.example.com'], inject: { bearer: true } },
        spare: { hosts: ['spare.example.com'], inject: { bearer: true } },
      },
      budgets: {
        sandbox: { dollars: 25, tokens: 30_000 },
        prices: { 'pretend-1': { input: 1_000, output: 2_000 } },
      },
    },
    hosts,
    [],
    answer,
  );
  await ground.gateway.setSecret('payments', values[2]);
  const policy = { repos: ['acme/web'], allowed_branches: ['fix/*'], auth_mode: 'bot' };
  await ground.gateway.register({ id: 'claude-fix-login', container_ip: '127.0.0.2', ...policy });
  await ground.gateway.register({ id: 'flood', container_ip: '127.0.0.1' });
  watched = await ground.visit();
  page = watched.page;
});

afterAll(async () => {
  await ground.stop();
  rmSync(folder, { recursive: true, force: true });
});

const region = (name: string | RegExp) => page.getByRole('region', { name });
const rows = () => region('Live feed').locator('tbody tr');
const textOf = async (of: ReturnType<typeof rows>): Promise<string> => (await of.textContent()) ?? '';

describe('what was asked for, refused, spent and used stands on the page', () => {
  test('a sandbox: who, how proven, what it may do, until when, how busy, what it spent', async () => {
    const messages = ['-H', 'content-type: application/json', '-d', '{"model":"pretend-1"}'];
    expect(await ground.curl('127.0.0.2', 'https://api.anthropic.com/v1/messages', ...messages)).toBe('200');
    expect(await ground.curl('127.0.0.2', 'https://pay.example.com/v1/charges')).toBe('200');
    expect(await ground.curl('127.0.0.2', 'https://reads.example.com/v1/items', '-d', 'x')).toBe('403');
    expect(await ground.curl('127.0.0.2', 'https://api.example.com/broken')).toBe('502');
    const card = region(/^Sandboxes/)
      .getByRole('listitem')
      .filter({ hasText: 'claude-fix-login' });
    await card.getByText('1 refused').waitFor();
    const text = await textOf(card);
    expect(text).toContain('acme/web on fix/* as bot');
    expect(text).toMatch(/Proven byip · 127\.0\.0\.2/);
    expect(text).toMatch(/Endsin 2[34] h/);
    expect(text).toMatch(/Last minute[4-9] requests · 1 refused · [\d.]+ k?B/);
    const meters = card.getByRole('meter', { name: 'Budget spent' });
    const spent = async (name: string): Promise<(string | null)[]> =>
      Promise.all((await meters.all()).map((meter) => meter.getAttribute(name)));
    expect(await spent('aria-valuetext')).toEqual([
      '$2.00 of $25.00 spent today',
      '1,500 of 30,000 tokens spent today',
    ]);
    expect(await spent('aria-valuenow')).toEqual(['8', '5']);
  });

  test('credentials by name: state, age, end, last use; no value, in no part of the page', async () => {
    const row = (name: string) => region('Credentials').getByRole('row').filter({ hasText: name });
    await row('anthropic').getByText('in 7 h').waitFor();
    const ago = String.raw`(just now|\d+ (s|min)( \d+ s)? ago)`;
    const age = String.raw`\d+ (s|min)( \d+ s)?`;
    expect(await textOf(row('anthropic'))).toMatch(new RegExp(`^anthropiclogin.*set${age}in 7 h \\d+ min${ago}$`));
    expect(await textOf(row('payments'))).toMatch(new RegExp(`^payments.*set${age}–${ago}$`));
    expect(await textOf(row('spare'))).toMatch(/not set: sallyport secret set spare––not yet$/);
    const told = await page.evaluate<string>(`fetch('/api/state', {headers: {
      'x-sallyport-csrf': localStorage.getItem('sallyport-visit') }}).then((answer) => answer.text())`);
    expect(told).toContain('payments');
    for (const value of values) expect(`${told}${await page.content()}`).not.toContain(value);
  });

  test('a refusal with its rule, and the line of the policy as it stands in the file', async () => {
    const group = region('Refused, by rule').getByRole('listitem').filter({ hasText: 'reads.example.com' });
    await group.getByText('method.not-allowed').waitFor();
    const text = await textOf(group);
    expect(text).toContain('POST https://reads.example.com/v1/items');
    expect(text).toContain('by allow[1] · claude-fix-login');
    expect(text).toMatch(/To let it pass: .+/);
    const [, line = ''] = /sallyport\.yaml:(\d+)$/.exec(await textOf(group.locator('figcaption'))) ?? [];
    const written = readFileSync(ground.gateway.configPath, 'utf8').split('\n')[Number(line) - 1];
    expect(written).toContain('reads.example.com');
    expect(await textOf(group.locator('figure .line'))).toBe(`${line}${written?.trim()}`);
  });

  test('what it cost, as a plot that can be read with keys and as a table', async () => {
    const plot = page.getByRole('slider', { name: 'Model cost over time' });
    await plot.locator('rect.dollars').waitFor();
    expect((await plot.locator('rect.dollars').boundingBox())?.height).toBeGreaterThan(20);
    expect(await plot.locator('text.axis').allTextContents()).toEqual(expect.arrayContaining(['$0', '$1.00', '$2.00']));
    await plot.focus();
    await eventually(async () => {
      if (/: \$2\.00, 1,500 tokens$/.test((await plot.getAttribute('aria-valuetext')) ?? '')) return true;
      await page.keyboard.press('ArrowLeft');
      return false;
    }, 'the bar of the one call');
    const figure = page.locator('figure.plot').filter({ has: plot });
    expect(await textOf(figure.locator('.readout'))).toMatch(/^(now|\d\d:\d\d:\d\d): \$2\.00, 1,500 tokens$/);
    await page.getByText('The same as a table').click();
    const table = page.getByRole('table', { name: /Traffic and cost/ });
    // Drawn anew with every step of ten seconds: a look in between finds no row.
    const cells = table.getByRole('row').filter({ hasText: '$2.00' }).getByRole('cell');
    await expect.poll(async () => (await cells.allTextContents()).slice(-2)).toEqual(['1,500', '$2.00']);
    await page.getByText('The same as a table').click();
  });

  test('a failure looks like none of the refusals, and all who count refusals count the same', async () => {
    const failed = rows().filter({ hasText: '/broken' });
    expect(await textOf(failed)).toContain('502 failed');
    const colourOf = (verdict: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('tr.${verdict} .dot')).backgroundColor`);
    expect(await colourOf('failed')).not.toBe(await colourOf('refused'));
    await page.getByLabel('Refused only').check();
    expect(await rows().count()).toBe(1);
    expect(await textOf(rows())).toContain('403 refused');
    await page.getByLabel('Refused only').uncheck();
    const terminal = new WatchView();
    for (const data of await ground.gateway.journal()) terminal.hear({ event: 'request', data }, Date.now());
    expect(terminal.refused).toBe(1);
    await failed.click();
    const opened = page.getByRole('dialog', { name: 'Request' });
    await opened.locator('.chip.wait', { hasText: 'failed 502' }).waitFor();
  });
});

test('every text can be told from its ground, in the light and in the dark', async () => {
  // With a request opened up over the page.
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const { texts, faint } = await contrastsOf(page);
    expect(texts).toBeGreaterThan(80);
    expect(faint).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
  await page.keyboard.press('Escape');
});

test('of a thousand requests at once a part is shown, and how many of how many is said', async () => {
  // What the page is told, and all it says of it: the words are gone a second later.
  await page.addInitScript(`globalThis.batches = []; globalThis.words = [];
    const Stream = EventSource;
    globalThis.EventSource = class extends Stream {
      constructor(...more) { super(...more); this.addEventListener('requests', ({ data }) => batches.push(JSON.parse(data))); }
    };
    addEventListener('DOMContentLoaded', () => {
      const place = document.getElementById('sampling');
      new MutationObserver(() => words.push(place.textContent)).observe(place, { childList: true, characterData: true, subtree: true });
    });`);
  await page.reload();
  await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
  const before = (await ground.gateway.journal()).length;
  const statuses = await flood(ground.gateway, { host: 'api.example.com', connections: 10, each: 120 });
  expect([...statuses]).toEqual([['200', 1_200]]);
  const records = async () => (await ground.gateway.journal()).slice(before);
  const told = () => page.evaluate<FeedBatch[]>('batches');
  const seenOf = (batches: readonly FeedBatch[]): number => batches.reduce((sum, { seen }) => sum + seen, 0);
  await eventually(async () => seenOf(await told()) >= 1_200, 'all of them told');
  await eventually(async () => seenOf(await told()) === (await records()).length, 'as many as the journal has');
  const [journal, batches] = [await records(), await told()];
  expect(journal.filter(({ path }) => String(path).startsWith('/flood/'))).toHaveLength(1_200);
  const sum = (of: (batch: FeedBatch) => number): number => batches.reduce((all, batch) => all + of(batch), 0);
  expect(sum(({ shown }) => shown)).toBe(sum(({ lines }) => lines.length));
  expect(sum(({ shown }) => shown)).toBeLessThan(journal.length);
  expect(Math.max(...batches.map(({ lines }) => lines.length))).toBeLessThanOrEqual(40);
  expect(await rows().count()).toBeLessThanOrEqual(300);

  await page.getByText(/^showing/).waitFor({ state: 'detached' });
  const said = (await page.evaluate<string[]>('words')).filter((words) => words !== '');
  expect(said.length).toBeGreaterThan(0);
  for (const words of said) {
    const [, some = '', all = ''] = /^showing ([\d,]+) of ([\d,]+) in the last second$/.exec(words) ?? [];
    const [shown, seen] = [some, all].map((figure) => Number(figure.replace(',', '')));
    expect(shown).toBeGreaterThan(0);
    expect(seen).toBeGreaterThan(shown!);
    expect(seen).toBeLessThanOrEqual(journal.length);
  }
  // The counts are not sampled.
  const card = region(/^Sandboxes/)
    .getByRole('listitem')
    .filter({ hasText: 'flood' });
  await card.getByText(/1,2\d\d requests/).waitFor();
});

test('the page had nothing to complain of', () => {
  expect(watched.complaints).toEqual([]);
});
