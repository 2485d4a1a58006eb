// Debian's own Chromium, driven by the tests, on loopback alone. Everything a page complains of is kept: a test says at its
// end that there was nothing.
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export interface WatchedPage {
  readonly page: Page;
  /** Errors on the console, thrown errors, broken content security policies, dialogs of the browser, requests to elsewhere. */
  readonly complaints: string[];
}

/** `rules`: names that lead elsewhere, e.g. `MAP evil.example 127.0.0.1`. */
export function openBrowser(rules: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    timeout: 90_000,
    args: [
      // The tests run as root, where Chromium has no sandbox of its own to offer.
      '--no-sandbox',
      '--disable-dev-shm-usage',
      // It asks nobody anything by itself.
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=${[...rules, 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1', 'EXCLUDE localhost'].join(', ')}`,
    ],
  });
}

/** A page in a profile of its own. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1:')) complaints.push(`asked for ${request.url()}`);
  });
  return { page, complaints };
}
