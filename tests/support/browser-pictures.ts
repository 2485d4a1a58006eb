// Takes the pictures of the documentation: the page in light, in dark and on a phone, a request opened up, and a terminal in
// which a push was refused. Run by scripts/screenshots.mjs; no test.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { openScene, type Scene } from './browser-scene.ts';

const maxBytes = 400_000;

export async function takePictures(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  const scene = await openScene();
  try {
    await scene.work();
    const first = await visit(browser, scene, { colorScheme: 'light' });
    await scene.ask();
    await first.getByRole('article').nth(2).waitFor();
    await approveForAWhile(first);
    await settle(first);
    await save(first, join(folder, 'dashboard-light.png'));
    const dark = await visit(browser, scene, { colorScheme: 'dark' });
    await settle(dark);
    await save(dark, join(folder, 'dashboard-dark.png'));
    const phone = await visit(browser, scene, { colorScheme: 'light', viewport: { width: 390, height: 1180 } });
    await settle(phone);
    await save(phone, join(folder, 'dashboard-phone.png'));
    await openRequest(first);
    await first.setViewportSize({ width: 1360, height: 900 });
    await save(first, join(folder, 'request.png'));
    await save(await showTerminal(browser, scene.pushed()), join(folder, 'refused-push.png'));
  } finally {
    await browser.close();
    await scene.stop();
  }
}

async function visit(browser: Browser, scene: Scene, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 1030 },
    reducedMotion: 'reduce',
    bypassCSP: true,
    ...options,
  });
  const page = await context.newPage();
  // A configuration lies in /etc/sallyport, not in a folder of this machine.
  await page.addInitScript(`const parse = JSON.parse;
    JSON.parse = (text) => parse(String(text).replaceAll(${JSON.stringify(scene.folder)}, '/etc/sallyport'));`);
  await page.goto(await scene.invite());
  await page.getByRole('banner').getByText('live', { exact: true }).waitFor();
  // As on a machine whose system font is a good one; the page itself brings none.
  await page.addStyleTag({ content: 'body, .told { font-family: Lato, sans-serif; } body { font-size: 14.5px; }' });
  return page;
}

/** One of those that wait is let through for a quarter of an hour: so there is an approval to see. */
async function approveForAWhile(page: Page): Promise<void> {
  const card = page.getByRole('article').filter({ hasText: '/v1/charges' });
  await card.getByRole('button', { name: 'For 15 minutes' }).click();
  await card.waitFor({ state: 'detached' });
}

/** The numbers of the sandboxes and the plots are told every two seconds. */
async function settle(page: Page): Promise<void> {
  await page.getByText('left · by').waitFor();
  await page.waitForTimeout(2_500);
}

async function openRequest(page: Page): Promise<void> {
  await page.getByLabel('Refused only').check();
  await page.locator('tbody tr', { hasText: 'push.protected-branch' }).first().click();
  await page.getByRole('list', { name: 'The way through the gateway' }).waitFor();
}

async function save(page: Page, path: string): Promise<void> {
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > maxBytes) throw new Error(`${path} has ${size} bytes: at most ${maxBytes} go into the documentation`);
  process.stdout.write(`${path} ${size}\n`);
}

async function showTerminal(browser: Browser, pushed: string): Promise<Page> {
  const page = await (
    await browser.newContext({ viewport: { width: 1080, height: 420 }, deviceScaleFactor: 1.5 })
  ).newPage();
  const lines = [
    '<i>claude-fix-login</i>:<u>~/web</u>$ git push origin main',
    ...pushed.trimEnd().split('\n').map(coloured),
    '<i>claude-fix-login</i>:<u>~/web</u>$ <s> </s>',
  ];
  await page.setContent(terminal.replace('OUTPUT', () => lines.join('\n')));
  const box = await page.locator('main').boundingBox();
  if (box !== null) await page.setViewportSize({ width: 1080, height: Math.ceil(box.height) + 56 });
  return page;
}

function coloured(line: string): string {
  const text = line.trimEnd().replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  if (/^ ! |^error:/.test(text)) return `<b>${text}</b>`;
  return text.replace(/^remote:/, '<em>remote:</em>');
}

const terminal = `<!doctype html><style>
  html { background: #12251f; }
  body { margin: 0; padding: 28px; background: linear-gradient(135deg, #0d4c43, #12251f); }
  main { border-radius: 12px; background: #0f1715; box-shadow: 0 18px 50px rgb(0 0 0 / 45%); overflow: hidden; }
  header { display: flex; gap: 8px; padding: 12px 16px; background: #1b2622; color: #93a59d; font: 13px Lato, sans-serif; align-items: center; }
  header span { width: 12px; height: 12px; border-radius: 50%; background: #3a4a44; }
  header p { margin: 0 auto; padding-right: 52px; }
  pre { margin: 0; padding: 18px 22px 22px; color: #dbe5e0; font: 14px/1.55 "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
  i { color: #55cfb8; font-style: normal; } u { color: #7db4ec; text-decoration: none; }
  b { color: #ff9087; font-weight: 400; } em { color: #93a59d; font-style: normal; } s { background: #dbe5e0; text-decoration: none; }
</style><main><header><span></span><span></span><span></span><p>claude-fix-login, inside its sandbox</p></header><pre>OUTPUT</pre></main>`;
