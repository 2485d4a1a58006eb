import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { LocalVault } from '../../../../../src/gateway/store/local-vault.ts';
import { reveal } from '../../../../../src/path/secret.ts';
import { type SharedVault, StoreUnavailable } from '../../../../../src/path/shared-store.ts';
import { LfsTicketStore, type TicketGrant } from '../../../../../src/stages/inject/lfs/lfs-ticket-store.ts';
import { LfsTicketVault } from '../../../../../src/stages/inject/lfs/lfs-ticket-vault.ts';

const address = {
  origin: { scheme: 'https', host: 's.example', port: 443 } as const,
  target: '/x?sig=hidden-signature',
  headers: [['Authorization', 'hidden-key']] as const,
};

function grantFor(sandboxId: string, over: Partial<TicketGrant> = {}): TicketGrant {
  return {
    sandboxId,
    sandboxSince: '2026-01-01T00:00:00.000Z',
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
    expect(store.find(other!)).toEqual(grantFor('b'));
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

describe('a ticket that another gateway or worker has issued', () => {
  const clock = { now: 0 };
  const vault = new LocalVault(() => clock.now);
  const now = (): number => clock.now;
  const open = (limits = {}) => new LfsTicketStore({ now, ...limits }, new LfsTicketVault(vault, now));

  test('is found, opens what it stands for, and is over everywhere at the same time', async () => {
    clock.now = 0;
    const [issuer, other] = [open(), open()];
    const ticket = issuer.issue(grantFor('a'), address);
    expect(issuer.find(ticket)).toEqual(grantFor('a'));
    expect(other.open(ticket)).toBeNull();
    expect(await other.find(ticket)).toEqual(grantFor('a'));
    const access = other.open(ticket)!;
    expect([access.origin, reveal(access.target)]).toEqual([address.origin, address.target]);
    expect(access.headers.map(([name, value]) => [name, reveal(value)])).toEqual(address.headers);
    clock.now = 1_000;
    expect([await other.find(ticket), await open().find(ticket)]).toEqual([null, null]);
  });

  test('is found by nobody when its sandbox is gone, or its issuer has let go of it', async () => {
    clock.now = 0;
    const issuer = open({ maxPerSandbox: 1 });
    const oldest = issuer.issue(grantFor('a'), address);
    const ticket = issuer.issue(grantFor('a'), address);
    expect(await open().find(oldest)).toBeNull();
    expect(await open().find(ticket)).not.toBeNull();
    issuer.drop('a');
    expect(await open().find(ticket)).toBeNull();
  });

  test('that reaches the vault a moment after it was asked for is found all the same', async () => {
    clock.now = 0;
    let resolve = (): void => {};
    const late = new Promise<void>((done) => {
      resolve = done;
    });
    const slow = {
      ...slowly(vault),
      put: (...put: Parameters<LocalVault['put']>) => late.then(() => vault.put(...put)),
    };
    const issuer = new LfsTicketStore({ now }, new LfsTicketVault(slow, now));
    const asked = open().find(issuer.issue(grantFor('a'), address));
    setTimeout(resolve, 20);
    expect(await asked).toEqual(grantFor('a'));
  });

  test('is looked for only when it looks like one, and a store that is away knows none', async () => {
    let asked = 0;
    const away = new LfsTicketVault({
      ...slowly(vault),
      put: () => Promise.reject(new StoreUnavailable('away')),
      get: () => {
        asked++;
        return Promise.reject(new StoreUnavailable('away'));
      },
    });
    const store = new LfsTicketStore({ now }, away);
    expect([store.find(''), store.find('../x'), store.find('x'.repeat(5000))]).toEqual([null, null, null]);
    expect(asked).toBe(0);
    expect(await store.find('x'.repeat(32))).toBeNull();
    const own = store.issue(grantFor('a'), address);
    expect(store.find(own)).toEqual(grantFor('a'));
  });

  test('neither the ticket nor what it stands for is in a key of the vault', async () => {
    const keys: string[] = [];
    const spy = { ...slowly(vault), put: async (key: string) => void keys.push(key) };
    const ticket = new LfsTicketStore({ now }, new LfsTicketVault(spy, now)).issue(grantFor('a'), address);
    expect(keys).toHaveLength(1);
    expect(keys[0]).not.toContain(ticket);
  });
});

function slowly(vault: LocalVault): SharedVault {
  return { put: () => Promise.resolve(), get: (key) => vault.get(key), remove: () => Promise.resolve() };
}
