import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ApprovalsInForce } from '../../../../src/gateway/approvals/approvals-in-force.ts';
import { buildDashboard, type GatewayDashboard } from '../../../../src/gateway/build/build-dashboard.ts';
import type { StartOptions } from '../../../../src/gateway/contract.ts';
import type { ListenAddress } from '../../../../src/policy/compiled.ts';
import { Feed } from '../../../../src/stages/audit/feed.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';
import { PageClient } from '../../../support/page-client.ts';
import { fakePorts } from '../admin/fake-ports.ts';

let other: Server;
let taken: ListenAddress;
let page: GatewayDashboard;
const warnings: string[] = [];

beforeAll(async () => {
  other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  taken = { host: '127.0.0.1', port: (other.address() as AddressInfo).port };
});

afterEach(() => page.close());
afterAll(() => {
  other.close();
});

const free: ListenAddress = { host: '127.0.0.1', port: 0 };
const feed = new Feed();

function pageOf(configured: ListenAddress | null, options: Pick<StartOptions, 'doors' | 'listen' | 'dashboard'> = {}) {
  const policy = handMadePolicy({});
  page = buildDashboard({
    options,
    policy: () => ({ ...policy, listen: { ...policy.listen, dashboard: configured } }),
    people: { approvals: new ApprovalsInForce(), watching: () => () => {}, onQuestion: () => () => {} },
    feed,
    reserved: { note: () => {} },
    log: { warn: (what: string) => warnings.push(what), error: (what: string) => warnings.push(what) },
  });
  return page;
}

describe('a page is served where somebody wants one', () => {
  test('nowhere by itself, and then nothing listens to the feed', async () => {
    await pageOf(null).open(fakePorts());
    expect([page.invite(), page.origin(), feed.size]).toEqual([null, null, 0]);
  });

  test('where the policy says, and the feed is let go of when it is closed', async () => {
    await pageOf(free).open(fakePorts());
    await expect(PageClient.enter(page.invite()!)).resolves.toBeDefined();
    expect(feed.size).toBe(1);
    await page.close();
    expect([page.invite(), feed.size]).toEqual([null, 0]);
  });

  test('where whoever started the gateway says, before the policy', async () => {
    await pageOf(taken, { listen: { dashboard: free } }).open(fakePorts());
    expect(page.origin()).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test('on a free port for one command that asks for it', async () => {
    await pageOf(null, { doors: 'sandboxes', dashboard: true }).open(fakePorts());
    expect(page.invite()).toContain('/enter?token=');
  });
});

test('where none is served, somebody who asks has it opened, once', async () => {
  await pageOf(null).open(fakePorts());
  expect(page.origin()).toBeNull();
  await page.openOnRequest(fakePorts());
  const { origin } = page;
  const opened = origin();
  await expect(PageClient.enter(await page.openOnRequest(fakePorts()))).resolves.toBeDefined();
  expect(origin()).toBe(opened);
});

describe('the configured port is taken', () => {
  test('a gateway does not start', async () => {
    await expect(pageOf(taken).open(fakePorts())).rejects.toThrow(/another program listens there.*listen\.dashboard/);
  });

  test('the gateway of a run serves its page on another port: the first may have the configured one', async () => {
    await pageOf(taken, { doors: 'sandboxes' }).open(fakePorts());
    expect(page.origin()).not.toContain(`:${taken.port}`);
    expect(warnings).toEqual([expect.stringContaining('another program listens there')]);
    await expect(PageClient.enter(page.invite()!)).resolves.toBeDefined();
  });
});
