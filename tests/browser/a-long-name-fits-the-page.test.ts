// Names without an end: hosts, paths, rules, sandboxes as long as they may be. The page is never wider than its window, on a
// desk or on a phone, and what a person agrees to is shown whole.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WatchedPage } from '../support/browser.ts';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';

const label = (letter: string): string => letter.repeat(60);
const longHost = `${label('a')}.${label('b')}.${label('c')}.example.com`;
const shortHost = 'pay.example.com';
const longSandbox = `claude-${'x'.repeat(55)}`;
const longPath = `/v1/${'segment'.repeat(60)}/end`;
const glob = `/v1/${'allowed'.repeat(40)}/**`;
const widths = [
  [1280, 800],
  [390, 844],
] as const;
let ground: BrowserGround;
let watched: WatchedPage;
let page: Page;

beforeAll(async () => {
  const hosts = [longHost, shortHost];
  ground = await openBrowserGround(
    {
      allow: [
        { host: longHost, paths: [glob, `/v2/${'x'.repeat(300)}`], methods: ['GET'] },
        { host: shortHost, ask: true },
      ],
      credentials: { ['k'.repeat(60)]: { hosts: [longHost], inject: { header: 'x-api-key' } } },
    },
    hosts,
  );
  await ground.gateway.register({ id: longSandbox, container_ip: '127.0.0.2', repos: [`acme/${'r'.repeat(90)}`] });
  watched = await ground.visit();
  page = watched.page;
  for (const path of [longPath, '/short', `${longPath}?${'q'.repeat(300)}=1`]) {
    expect(await ground.curl('127.0.0.2', `https://${longHost}${path}`)).toBe('403');
    expect(await ground.curl('127.0.0.2', `https://${longHost}${path}`, '-X', 'DELETE')).toBe('403');
  }
  await page.getByRole('region', { name: 'Refused, by rule' }).locator('pre').first().waitFor();
});

afterAll(() => ground.stop());

/** With `SALLYPORT_LOOK=DIRECTORY` the pages are left there to look at. */
async function keepPicture(name: string): Promise<void> {
  const folder = process.env.SALLYPORT_LOOK;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** How far the page goes past its window, and what sticks out of it. */
async function pastTheEdge(): Promise<{ readonly by: number; readonly what: readonly string[] }> {
  return page.evaluate(`(() => {
    const by = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    const inScroller = (one) => {
      for (let at = one; at !== null && at !== document.body; at = at.parentElement) {
        if (getComputedStyle(at).overflowX !== 'visible' || at.classList.contains('unseen')) return true;
      }
      return false;
    };
    const what = [...document.body.querySelectorAll('*')]
      .filter((one) => one.getClientRects().length > 0 && one.getBoundingClientRect().right > innerWidth + 0.5)
      .filter((one) => !inScroller(one))
      .map((one) => one.tagName + '.' + one.className);
    return { by, what };
  })()`);
}

/** Whether text is cut off in it, or hidden to the side. */
function sidewaysIn(of: Locator): Promise<number> {
  return of.evaluate(
    (one: { readonly scrollWidth: number; readonly clientWidth: number }) => one.scrollWidth - one.clientWidth,
  );
}

describe.each(widths)('at %i pixels', (width, height) => {
  beforeAll(async () => {
    await page.setViewportSize({ width, height });
  });

  test('the page with long hosts, paths, rules, sandboxes and credentials fits', async () => {
    await keepPicture(`page-${width}`);
    expect(await pastTheEdge()).toEqual({ by: 0, what: [] });
    // Advice of several lines is read as lines.
    const said = await page.locator('.advice').first().locator('.line').allTextContents();
    expect(said.join('\n')).toContain('sallyport.yaml under allow:\n  - host: ');
    expect(await page.locator('main').textContent()).not.toContain('U+000A');
    const files = page.locator('.file:visible');
    expect(await files.count()).toBeGreaterThan(0);
    for (const file of await files.all()) expect(await sidewaysIn(file)).toBe(0);
  });

  test('the line that is approved is shown whole, and so is how far it goes', async () => {
    const client = ground.curl('127.0.0.2', `https://${shortHost}${longPath}`);
    const waiting = page.getByRole('region', { name: /^Waiting for you/ });
    const card = waiting.getByRole('article').first();
    await card.waitFor();
    await keepPicture(`question-${width}`);
    expect(await pastTheEdge()).toEqual({ by: 0, what: [] });
    await card.getByRole('button', { name: 'Always…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Always allow this?' });
    await dialog.locator('pre .line').first().waitFor();
    await keepPicture(`always-${width}`);
    const text = (await dialog.locator('pre .line').allTextContents()).join('\n');
    expect(text).toContain(longPath);
    expect(await dialog.locator('fieldset').textContent()).toContain(`GET ${longPath} alone`);
    expect(await sidewaysIn(dialog)).toBe(0);
    for (const part of await dialog.locator('pre:visible, .line:visible, label:visible, p:visible').all()) {
      expect(await sidewaysIn(part)).toBeLessThanOrEqual(0);
      const [box, around] = await Promise.all([part.boundingBox(), dialog.boundingBox()]);
      expect(box!.x).toBeGreaterThanOrEqual(around!.x);
      expect(box!.x + box!.width).toBeLessThanOrEqual(around!.x + around!.width);
    }
    // The answers are in sight however long it is.
    const yes = await dialog.getByRole('button', { name: 'Write this line' }).boundingBox();
    expect(yes!.y + yes!.height).toBeLessThanOrEqual(height);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await card.getByRole('button', { name: 'Deny' }).click();
    expect(await client).toBe('403');
    await card.waitFor({ state: 'detached' });
  });

  test('an opened request fits, with the line that decided', async () => {
    await page.locator('#rows a').first().click();
    const drawer = page.getByRole('dialog', { name: 'Request' });
    await drawer.getByText('Decision').waitFor();
    await drawer.getByText('The record as it stands in the journal').click();
    await keepPicture(`request-${width}`);
    expect(await sidewaysIn(drawer)).toBe(0);
    for (const file of await drawer.locator('.file').all()) expect(await sidewaysIn(file)).toBe(0);
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });
});

test('the page complained of nothing', () => {
  expect(watched.complaints).toEqual([]);
});
