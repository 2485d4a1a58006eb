import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPage } from '../support/browser.ts';
import { type BrowserGround, openBrowserGround } from '../support/browser-ground.ts';
import { askPage } from '../support/page-client.ts';

let ground: BrowserGround;
let elsewhere: Server;
let other: string;
/** A page of another origin, in the very browser in which somebody is at the dashboard. */
let evil: Page;
let owner: Page;
/** What the browser told the other server of the owner. */
let cookieElsewhere = '';

beforeAll(async () => {
  ground = await openBrowserGround(
    { allow: [{ host: 'api.example.com' }] },
    ['api.example.com'],
    ['MAP evil.example 127.0.0.1'],
  );
  await ground.gateway.register({ id: 'claude-fix-login', container_ip: '127.0.0.2' });
  elsewhere = createServer((request, response) => {
    cookieElsewhere ||= request.headers.cookie ?? '';
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>elsewhere</title><p>hello</p>');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  other = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  owner = (await ground.visit()).page;
  evil = await owner.context().newPage();
  await evil.goto(other);
});

afterAll(async () => {
  await ground.stop();
  await new Promise((resolve) => elsewhere.close(resolve));
});

/** Runs in the page of the other origin. */
const attempt = (script: string): Promise<string> => evil.evaluate<string>(`(async () => { ${script} })()`);

describe('a page of another origin, with the session cookie in the same browser', () => {
  test('reads nothing by fetch, with or without the cookie', async () => {
    for (const options of ["{credentials: 'include'}", '{}', "{mode: 'no-cors', credentials: 'include'}"]) {
      const got = await attempt(`
        try { const answer = await fetch('${ground.origin}/api/state', ${options}); return answer.type + (await answer.text()); }
        catch { return 'failed'; }`);
      expect(['failed', 'opaque']).toContain(got);
    }
  });

  test('changes nothing by posting, neither as a form nor as JSON', async () => {
    const target = `${ground.origin}/api/sandboxes/claude-fix-login/revoke`;
    await attempt(`
      for (const headers of [{}, {'content-type': 'text/plain'}, {'content-type': 'application/json', 'x-sallyport-csrf': 'x'}])
        await fetch('${target}', {method: 'POST', mode: headers['x-sallyport-csrf'] ? 'cors' : 'no-cors', credentials: 'include', headers, body: '{}'}).catch(() => {});
      const form = Object.assign(document.createElement('form'), {method: 'post', action: '${target}', target: 'hidden', enctype: 'text/plain'});
      const frame = Object.assign(document.createElement('iframe'), {name: 'hidden'});
      document.body.append(frame, form);
      await new Promise((resolve) => { frame.onload = resolve; form.submit(); });`);
    expect(await ground.curl('127.0.0.2', 'https://api.example.com/still')).toBe('200');
  });

  test('hears nothing by server-sent events', async () => {
    const got = await attempt(`return await new Promise((resolve) => {
      const stream = new EventSource('${ground.origin}/api/events', {withCredentials: true});
      stream.onopen = () => resolve('open');
      stream.onerror = () => resolve('refused');
    });`);
    expect(got).toBe('refused');
  });

  test('loads neither its scripts nor its pictures', async () => {
    const got = await attempt(`
      const load = (tag, address) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('refused');
        element.src = '${ground.origin}' + address;
        document.body.append(element);
      });
      return [await load('script', '/page.js'), await load('img', '/icon.svg')].join();`);
    expect(got).toBe('refused,refused');
  });

  test('cannot put it in a frame', async () => {
    await attempt(`
      const frame = document.createElement('iframe');
      frame.id = 'framed';
      frame.src = '${ground.origin}/';
      document.body.append(frame);
      await new Promise((resolve) => { frame.onload = resolve; });`);
    const framed = evil.frames().filter((frame) => frame.url().startsWith(ground.origin));
    for (const frame of framed) expect(await frame.locator('h1', { hasText: 'Sallyport' }).count()).toBe(0);
    expect(await evil.frameLocator('#framed').getByText('claude-fix-login').count()).toBe(0);
  });

  test('holds no window of it by opening one', async () => {
    const got = await attempt(`
      const opened = window.open('${ground.origin}/');
      if (opened === null) return 'none';
      const deadline = performance.now() + 20_000;
      while (!opened.closed && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
      return opened.closed ? 'cut off' : 'held';`);
    expect(['none', 'cut off']).toContain(got);
  });
});

test('a server on another port is shown the cookie by the browser, and gets no further with it', async () => {
  expect(cookieElsewhere).toMatch(/^sallyport_\d+=[\w-]{43}$/);
  for (const path of ['/api/state', '/api/events', '/api/events?word=x'])
    expect((await askPage(ground.origin, path, { headers: { cookie: cookieElsewhere } })).status).toBe(401);
});

describe('a visitor of its own', () => {
  test('without a token gets words and no data', async () => {
    const { page } = await openPage(ground.browser);
    const answer = await page.goto(`${ground.origin}/`);
    expect(answer?.status()).toBe(401);
    expect(await page.content()).toContain('sallyport dashboard');
    expect(await page.content()).not.toContain('claude-fix-login');
    for (const path of ['/api/state', '/api/events', '/page.js', '/look.css', '/api/requests/x']) {
      expect((await page.request.get(ground.origin + path)).status()).toBe(401);
    }
    await page.context().close();
  });

  test('with a token that somebody has used before gets no further', async () => {
    const address = await ground.invite();
    const first = await openPage(ground.browser);
    await first.page.goto(address);
    expect(first.page.url()).toBe(`${ground.origin}/`);
    const second = await openPage(ground.browser);
    const answer = await second.page.goto(address);
    expect(answer?.status()).toBe(401);
    await first.page.context().close();
    await second.page.context().close();
  });

  test('under a name that was made to lead here gets nothing, not even with a token', async () => {
    const { page } = await openPage(ground.browser);
    const rebound = new URL(await ground.invite());
    rebound.hostname = 'evil.example';
    for (const address of [rebound.href, `http://evil.example:${rebound.port}/`]) {
      const answer = page.waitForResponse(address);
      // With nothing in the answer Chromium shows a page of its own.
      await page.goto(address).catch(() => null);
      expect((await answer).status()).toBe(403);
      expect(await (await answer).headerValue('set-cookie')).toBeNull();
    }
    await page.context().close();
  });
});

test('the one who was invited is still at the page', async () => {
  await ground.curl('127.0.0.2', 'https://api.example.com/at-last');
  await owner.getByText('api.example.com/at-last').waitFor();
});
