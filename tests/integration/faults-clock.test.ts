// The clock of the machine is set forward a day, or back a day, and set right again: nothing that was over comes back, nothing
// is granted twice, nothing waits for a day, and what clients with the right clock are shown is valid for them. Times that
// are only measured (limits, circuits, timeouts) run by a clock that nobody sets.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LocalMeters } from '../../src/gateway/store/local-meters.ts';
import { LocalTallies } from '../../src/gateway/store/local-tallies.ts';
import { Secret } from '../../src/path/secret.ts';
import { type Ca, openCa } from '../../src/stages/accept/tls/ca.ts';
import { IdentityCa } from '../../src/stages/accept/tls/identity-ca.ts';
import { LeafMinter } from '../../src/stages/accept/tls/leaf.ts';
import { verifyJournal } from '../../src/stages/audit/journal/verify.ts';
import { periodAt } from '../../src/stages/authorize/limits/budget-period.ts';
import { usualCircuits } from '../../src/stages/forward/dial/circuit-breaker.ts';
import { LfsTicketStore } from '../../src/stages/inject/lfs/lfs-ticket-store.ts';
import { OAuthBackOff } from '../../src/stages/inject/logins/oauth-back-off.ts';
import { SourceError } from '../../src/stages/inject/sources/secret-source.ts';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { openTestRegistry } from '../support/memory-registry.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const dayMs = 86_400_000;
const noon = Date.parse('2026-11-16T12:00:00Z');
const directory = mkdtempSync(join(tmpdir(), 'sallyport-clock-'));
let ca: Ca;

beforeAll(async () => {
  // Made by a clock that was right, a month ago.
  ca = await openCa(join(directory, 'ca'), () => noon - 30 * dayMs);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('a registration', () => {
  test('that was over by a clock set forward does not come back when it is set right', async () => {
    const { registry, clock, backup } = await openTestRegistry();
    const { record } = await registry.register({ id: 'one', container_ip: '10.0.0.1' });
    clock.advance(dayMs + 1);
    registry.sweep();
    clock.advance(-dayMs - 1);
    expect(registry.lookUpId(record.id)).toBeUndefined();
    expect(registry.lookUpAddress('10.0.0.1')).toBeUndefined();
    expect(backup.sandboxes).toEqual([]);
    registry.close();
  });

  test('keeps what it was given when the clock is set back, and an end that was named does not move', async () => {
    const { registry, clock } = await openTestRegistry();
    const { record } = await registry.register({ id: 'one', container_ip: '10.0.0.1' });
    const end = new Date(clock.nowMs + 3_600_000).toISOString();
    const fixed = (await registry.register({ id: 'two', container_ip: '10.0.0.2', expires_at: end })).record;
    const before = record.expiresAtMs;
    clock.advance(-dayMs);
    registry.touch(record);
    registry.touch(fixed);
    expect(record.expiresAtMs).toBe(before);
    expect(new Date(fixed.expiresAtMs).toISOString()).toBe(end);
    registry.close();
  });
});

describe('a certificate', () => {
  const validAt = (pem: string, ms: number): boolean => {
    const { validFrom, validTo } = new X509Certificate(pem);
    return Date.parse(validFrom) <= ms && ms < Date.parse(validTo);
  };

  test('for a host that was made by a clock a day ahead is not shown once the clock is right', () => {
    const clock = { now: noon + dayMs };
    const minter = new LeafMinter(ca, () => clock.now);
    const ahead = minter.contextFor('far.example');
    expect(validAt(minter.mintLeaf('far.example'), noon)).toBe(false);
    clock.now = noon;
    expect(minter.contextFor('far.example')).not.toBe(ahead);
    expect(validAt(minter.mintLeaf('far.example'), noon)).toBe(true);
  });

  test('for a host that was made by a clock a day behind is valid for clients whose clock is right', () => {
    const clock = { now: noon - dayMs };
    const minter = new LeafMinter(ca, () => clock.now);
    const behind = minter.contextFor('far.example');
    expect(validAt(minter.mintLeaf('far.example'), noon)).toBe(true);
    clock.now = noon;
    expect(minter.contextFor('far.example')).toBe(behind);
  });

  test('of a sandbox or of the mTLS door begins a little before it is made, and ends within its hour', async () => {
    const clock = { now: noon };
    const identities = await IdentityCa.open(join(directory, 'identity'), () => clock.now);
    clock.now = noon + dayMs;
    expect(identities.issueDoorCertificate().validFromMs).toBeGreaterThan(noon);
    clock.now = noon;
    const right = identities.issueDoorCertificate();
    expect(right.validFromMs).toBeLessThanOrEqual(noon);
    expect(right.renewAtMs).toBeGreaterThan(noon);
  });

  test('the CA is refused in words by a clock that is far behind, is left as it is, and serves again afterwards', async () => {
    const place = join(directory, 'ca');
    const before = readFileSync(join(place, 'ca.key'));
    await expect(openCa(place, () => noon - 31 * dayMs)).rejects.toThrow('check the clock of this host');
    expect(readFileSync(join(place, 'ca.key'))).toEqual(before);
    expect((await openCa(place, () => noon)).fingerprint).toBe(ca.fingerprint);
  });
});

describe('what was granted', () => {
  test('a ticket that was over stays over', () => {
    const clock = { now: noon };
    const tickets = new LfsTicketStore({ now: () => clock.now });
    const grant = {
      ...{ sandboxId: 'a', sandboxSince: '', host: 'github.com', port: 443, repository: 'acme/art' },
      ...{ action: 'download' as const, oid: 'ab'.repeat(32), size: 1, expiresAt: noon + 1000 },
    };
    const origin = { scheme: 'https' as const, host: 's.example', port: 443 };
    const ticket = tickets.issue(grant, { origin, target: '/x', headers: [] });
    clock.now = noon + dayMs;
    expect(tickets.open(ticket)).toBeNull();
    clock.now = noon;
    expect(tickets.open(ticket)).toBeNull();
  });

  test('a budget is not given twice: a clock that goes forward and back finds the same sums', () => {
    const tallies = new LocalTallies(() => 0);
    const keyAt = (ms: number): string => periodAt(ms, 'day').key;
    tallies.add(keyAt(noon), 100, dayMs);
    tallies.add(keyAt(noon + dayMs), 7, dayMs);
    expect([tallies.total(keyAt(noon)), tallies.total(keyAt(noon + dayMs))]).toEqual([100, 7]);
    expect(keyAt(noon - dayMs)).not.toBe(keyAt(noon));
  });
});

describe('what waits', () => {
  const error = new SourceError('the endpoint is away');

  test.each([
    ['back', -dayMs],
    ['forward', dayMs],
  ])('a pause of a login ends when the clock is set %s', (_, jump) => {
    const clock = { now: noon };
    const backOff = new OAuthBackOff(() => clock.now);
    backOff.failed(error);
    expect(backOff.pause()).toBe(error);
    clock.now += jump;
    expect(backOff.pause()).toBeNull();
  });

  test('a token that an upstream rejects is replaced, although it was obtained in what is now the future', () => {
    const clock = { now: noon };
    const backOff = new OAuthBackOff(() => clock.now);
    expect(backOff.mayReplaceRejected(noon - dayMs)).toBe(true);
    expect(backOff.mayReplaceRejected(noon)).toBe(false);
    clock.now -= dayMs;
    expect(backOff.mayReplaceRejected(noon)).toBe(true);
    // And is still not replaced again and again.
    expect(backOff.mayReplaceRejected(noon - 2 * dayMs)).toBe(false);
  });

  test('a refresh token that was declared dead stays dead', () => {
    const clock = { now: noon };
    const backOff = new OAuthBackOff(() => clock.now);
    const refresh = new Secret('login', 'refresh-token-1');
    backOff.failed(backOff.end(refresh, error));
    for (const jump of [dayMs, -2 * dayMs]) {
      clock.now += jump;
      expect(backOff.problem(refresh)).toBe(error);
    }
  });
});

describe('what is only measured', () => {
  test('does not look at the clock of the day: limits and circuits stay as they are', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: noon });
    try {
      const meters = new LocalMeters();
      const rate = { perSecond: 0.001, burst: 2 };
      const wait = (): number => meters.take('key', rate) as number;
      expect([wait() <= 0, wait() <= 0, wait() > 0]).toEqual([true, true, true]);
      const before = performance.now();
      for (const jump of [dayMs, -2 * dayMs]) {
        vi.setSystemTime(Date.now() + jump);
        expect(wait()).toBeGreaterThan(0);
        expect(usualCircuits.nowMs() - before).toBeLessThan(dayMs / 2);
      }
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a gateway that runs', () => {
  test('serves on under a clock that jumps half a day either way, ends what is over, and keeps its journal whole', async () => {
    const testCa = makeTestCa();
    const names = ['first.example', 'second.example'];
    const upstream = await startStreamingUpstream(testCa, names, (_request, response) => response.end('fine'));
    const rightMs = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: rightMs });
    const resolve = Object.fromEntries(names.map((name) => [name, upstream.address]));
    const gateway = await startTestGateway({
      allow: names.map((host) => ({ host })),
      upstream: { resolve, ca: testCa.path },
    });
    await gateway.register();
    // The certificate of a name is made by the clock of the moment, and judged by the right one.
    const ask = async (name: string): Promise<string> => {
      const wire = new Wire(await openTls(gateway, `${name}:443`, { caPath: gateway.caPath }));
      wire.send(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
      return (await wire.rest()).slice(9, 12);
    };
    try {
      expect(await ask('first.example')).toBe('200');
      vi.setSystemTime(rightMs + dayMs / 2);
      expect(await ask('first.example')).toBe('200');
      vi.setSystemTime(rightMs - dayMs / 2);
      expect(await ask('second.example')).toBe('200');
      vi.setSystemTime(rightMs + 3 * dayMs);
      await expect(ask('first.example')).rejects.toThrow(/refused.*403/);
      vi.setSystemTime(rightMs);
      // What was over stays over.
      await expect(ask('first.example')).rejects.toThrow(/refused.*403/);
      expect((await gateway.journal()).filter(({ verdict }) => verdict === 'allowed')).toHaveLength(3);
      expect((await verifyJournal(join(gateway.home, 'state', 'journal'))).ok).toBe(true);
    } finally {
      await gateway.stop();
      await upstream.close();
      vi.useRealTimers();
    }
  });
});
