// Real browsers in `sallyport run`, with certificate verification as they come: a page with a script from another host, a
// service worker and a WebSocket, a host that is refused in words, and a certificate of nobody's CA that stays refused.
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { type LoopbackServer, listenOnLoopback } from '../../src/prove/internet/listen-on-loopback.ts';
import { makeRunGround, type RunGround, readableByAll, runUsers } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const page = `<!doctype html><title>app</title><script src="https://cdn.example/lib.js"></script>
<script>
  window.worker = navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 'ready', String);
  window.socket = new Promise((resolve) => {
    const socket = new WebSocket('wss://app.example/socket');
    socket.onopen = () => socket.send('ping');
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => resolve('socket failed');
  });
</script><p>the page</p>`;

/** Answers what a page, its worker and another host's script are. */
const files: Readonly<Record<string, readonly [string, string]>> = {
  'app.example/': ['text/html', page],
  'app.example/worker.js': ['text/javascript', "self.addEventListener('fetch', () => {});"],
  'cdn.example/lib.js': ['text/javascript', "window.lib = 'from the other host';"],
};

/** Inside: no option that turns verification off, and Playwright's defaults. */
const script = `
const { chromium } = require('/mnt/playwright/node_modules/playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', chromiumSandbox: process.argv[1] === 'sandbox' });
  const page = await browser.newPage();
  await page.goto('https://app.example/');
  const seen = await page.evaluate(async () => ({ lib: window.lib, worker: await window.worker, socket: await window.socket }));
  const refused = await page.goto('https://elsewhere.example/');
  const words = await page.evaluate(() => document.body.innerText);
  const pinned = await page.goto('https://tunnel.example/').then(() => 'shown', (error) => error.message);
  console.log(JSON.stringify({ ...seen, status: refused.status(), words, pinned }));
  await browser.close();
})().catch((error) => { console.error(error); process.exit(1); });
`;

const firefox = '/usr/bin/firefox-esr';
let far: LoopbackServer;
let ground: RunGround;
let playwright: string;
let asked: string[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const names = ['app.example', 'cdn.example', 'tunnel.example'];
  const server = createServer(ca.issue(names), (request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    const [type, text] = files[`${request.headers.host}${request.url}`] ?? ['text/plain', 'nothing here'];
    response.setHeader('content-type', type);
    response.end(text);
  });
  const sockets = new WebSocketServer({ server, path: '/socket' });
  sockets.on('connection', (socket) => socket.on('message', () => socket.send('pong')));
  far = await listenOnLoopback(server);
  playwright = mkdtempSync(join(tmpdir(), 'sallyport-playwright-'));
  cpSync(
    fileURLToPath(new URL('../../node_modules/playwright-core', import.meta.url)),
    join(playwright, 'node_modules/playwright-core'),
    { recursive: true },
  );
  chmodSync(playwright, 0o755);
  ground = makeRunGround({
    // The browser's own services are not there, and are refused: it works without.
    allow: [{ host: 'app.example' }, { host: 'cdn.example' }, { host: 'tunnel.example', tunnel: true }],
    dns: { unknown: 'answer' },
    upstream: {
      ca: readableByAll(ca.path),
      resolve: Object.fromEntries(names.map((name) => [name, far.address])),
    },
  });
});
afterAll(async () => {
  await far?.close();
  ground?.remove();
  rmSync(playwright, { recursive: true, force: true });
});

describe.each(runUsers)('browsers in a sandbox of %s', (user) => {
  const chromium = (how: string, home: 'fresh' | 'persist' = 'fresh') =>
    ground.sallyport(
      user,
      ['run', '--home', home, '--ro', `${playwright}:/mnt/playwright`, '--', 'node', '-e', script, how],
      { timeoutMs: 90_000 },
    );

  test('Chromium, through Playwright, trusts the door and nobody besides, and shows a refusal in words', async () => {
    const { code, stdout, stderr } = await chromium('plain');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      lib: 'from the other host',
      worker: 'ready',
      socket: 'pong',
      status: 403,
      words: expect.stringContaining('elsewhere.example is not on the allowlist'),
      pinned: expect.stringContaining('ERR_CERT_AUTHORITY_INVALID'),
    });
  });
});

describe('what a browser keeps', () => {
  test("Chromium's own sandbox works in ours, and a home that is kept has the CA of today", async () => {
    for (const _ of ['first', 'second']) {
      const { code, stdout, stderr } = await chromiumKept();
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ lib: 'from the other host', socket: 'pong' });
    }
  });

  const chromiumKept = () =>
    ground.sallyport(
      'an ordinary user',
      ['run', '--home', 'persist', '--ro', `${playwright}:/mnt/playwright`, '--', 'node', '-e', script, 'sandbox'],
      { timeoutMs: 90_000 },
    );

  test('without the database in the home the policy in /etc is enough', async () => {
    const open = 'chromium --headless --no-sandbox --disable-gpu --dump-dom https://app.example/';
    const { stdout } = await ground.sallyport('root', ['run', '--', 'sh', '-c', `rm ~/.pki/nssdb/*; ${open}`]);
    expect(stdout).toContain('the page');
  });

  test.runIf(existsSync(firefox))('Firefox installs the CA by its policy, and shows the page', async () => {
    asked = [];
    const shot = join(ground.projectOf('an ordinary user'), 'shot.png');
    const command = `mkdir p && exec firefox-esr --headless --profile $PWD/p --screenshot ${shot} https://app.example/`;
    const { code, stderr } = await ground.sallyport('an ordinary user', ['run', '--', 'sh', '-c', command], {
      timeoutMs: 90_000,
    });
    expect(code, stderr).toBe(0);
    expect(readFileSync(shot).subarray(1, 4).toString()).toBe('PNG');
    expect(asked).toContain('app.example/');
    expect(asked).toContain('cdn.example/lib.js');
  });
});
