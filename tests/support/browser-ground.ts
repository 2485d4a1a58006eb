// Where the dashboard is tried: a real gateway that serves it, a far side that echoes, sandboxes with real curl, and
// Chromium that has come in by a one-time address.
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { openBrowser, openPage, type WatchedPage } from './browser.ts';
import { type Answer, type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export interface BrowserGround {
  readonly gateway: TestGateway;
  readonly upstream: FakeUpstream;
  readonly browser: Browser;
  /** Where the page is served, e.g. `http://127.0.0.1:41234`. */
  readonly origin: string;
  /** A new address, good for one visit. */
  invite(): Promise<string>;
  /** The page, open and live. */
  visit(options?: BrowserContextOptions): Promise<WatchedPage>;
  /** The status that curl of this sandbox (an address, 127.0.0.2 and so on) got for the URL. */
  curl(from: string, url: string, ...more: string[]): Promise<string>;
  stop(): Promise<void>;
}

export async function openBrowserGround(
  config: Record<string, unknown>,
  hosts: readonly string[],
  rules: readonly string[] = [],
  answer?: Answer,
): Promise<BrowserGround> {
  const ca = makeTestCa();
  const [upstream, browser] = await Promise.all([startFakeUpstream(ca, hosts, answer), openBrowser(rules)]);
  const gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', dashboard: '127.0.0.1:0' },
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
    ...config,
  });
  const first = gateway.gateway.summary.dashboard;
  if (first === null) throw new Error('the gateway serves no page');
  const { origin } = new URL(first);
  const invite = async (): Promise<string> => {
    const reply = await gateway.admin('POST', '/internal/dashboard');
    const { address } = reply.json<{ address?: string }>();
    if (address === undefined) throw new Error(`no address: ${reply.status} ${reply.body}`);
    return address;
  };
  return {
    gateway,
    upstream,
    browser,
    origin,
    invite,
    async visit(options) {
      const watched = await openPage(browser, options);
      await watched.page.goto(await invite());
      await watched.page.getByRole('banner').getByText('live', { exact: true }).waitFor();
      return watched;
    },
    async curl(from, url, ...more) {
      const run = await runClient('curl', [
        ...['-sS', '-m', '20', '-o', '/dev/null', '--interface', from, '-x', gateway.proxyUrl],
        ...['--cacert', gateway.caPath, '-w', '%{http_code} %{http_connect}', ...more, url],
      ]);
      const [code = '', connectCode = ''] = run.stdout.split(' ');
      return code === '000' ? connectCode : code;
    },
    async stop() {
      await browser.close();
      await gateway.stop();
      await upstream.close();
    },
  };
}
