import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { LfsTicketStore, type TicketGrant } from '../../../src/inject/lfs-ticket-store.ts';

const address = {
  origin: { scheme: 'https', host: 's.example', port: 443 } as const,
  target: '/x?sig=hidden-signature',
  headers: [['Authorization', 'hidden-key']] as const,
};

function grantFor(sandboxId: string, over: Partial<TicketGrant> = {}): TicketGrant {
  return {
    sandboxId,
    host: 'github.com',
    port: 443,
    repository: 'acme/art',
    action: 'download',
    oid: 'ab'.repeat(32),
    size: 1,
    expiresAt: 1_000,
    ...over,
  };
}

function storeAt(
  clock: { now: number },
  limits: { maxTickets?: number; maxPerSandbox?: number; maxBytes?: number } = {},
) {
  return new LfsTicketStore({ now: () => clock.now, ...limits });
}

describe('what tickets stand for is kept for a while and for one sandbox', () => {
  test('a ticket is found until its time is over, and then gone for good', () => {
    const clock = { now: 0 };
    const store = storeAt(clock);
    const ticket = store.issue(grantFor('a'), address);
    expect(store.find(ticket)).toEqual(grantFor('a'));
    clock.now = 999;
    expect(store.open(ticket)?.origin.host).toBe('s.example');
    clock.now = 1_000;
    expect([store.find(ticket), store.open(ticket), store.size]).toEqual([null, null, 0]);
    clock.now = 0;
    expect(store.find(ticket)).toBeNull();
  });

  test('a sandbox that is gone takes its tickets along, and nobody else’s', () => {
    const store = storeAt({ now: 0 });
    const [one, two, other] = [grantFor('a'), grantFor('a'), grantFor('b')].map((grant) => store.issue(grant, address));
    store.drop('a');
    expect([store.find(one!), store.find(two!)]).toEqual([null, null]);
    expect(store.find(other!)?.sandboxId).toBe('b');
    store.drop('never-seen');
    expect(store.size).toBe(1);
  });

  test('the oldest of a sandbox go, and those of others stay', () => {
    const store = storeAt({ now: 0 }, { maxPerSandbox: 3 });
    const other = store.issue(grantFor('b'), address);
    const own = Array.from({ length: 5 }, () => store.issue(grantFor('a'), address));
    expect(own.map((ticket) => store.find(ticket) !== null)).toEqual([false, false, true, true, true]);
    expect(store.find(other)).not.toBeNull();
  });

  test('all together they are bounded in number and in bytes', () => {
    const few = storeAt({ now: 0 }, { maxTickets: 10 });
    for (let i = 0; i < 50; i++) few.issue(grantFor(`s${i}`), address);
    expect(few.size).toBe(10);
    const small = storeAt({ now: 0 }, { maxBytes: 10_000 });
    const long = { ...address, target: `/${'x'.repeat(2_000)}` };
    for (let i = 0; i < 50; i++) small.issue(grantFor('a'), long);
    expect(small.size).toBeLessThanOrEqual(4);
    expect(small.size).toBeGreaterThan(0);
  });

  test('tickets do not repeat and have room for 192 bits', () => {
    const store = storeAt({ now: 0 });
    const tickets = Array.from({ length: 1000 }, () => store.issue(grantFor('a'), address));
    expect(new Set(tickets).size).toBe(1000);
    expect(tickets.every((ticket) => /^[\w-]{32}$/.test(ticket))).toBe(true);
  });

  test('what is secret does not print', () => {
    const store = storeAt({ now: 0 });
    const access = store.open(store.issue(grantFor('a'), address));
    for (const text of [JSON.stringify(access), inspect(access, { depth: 9 }), inspect(store, { depth: 9 })]) {
      expect(text).not.toContain('hidden');
    }
  });
});
