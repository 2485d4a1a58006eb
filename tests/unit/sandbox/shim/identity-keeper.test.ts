import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Identity, readIdentity } from '../../../../src/sandbox/shim/identity.ts';
import { IdentityKeeper } from '../../../../src/sandbox/shim/identity-keeper.ts';
import { makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
const minuteMs = 60_000;
const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const renew = vi.fn<(identity: Identity) => Promise<Identity>>();
const load = vi.fn<() => Promise<Identity>>();
const keep = vi.fn<(identity: Identity) => Promise<void>>();
let keeper: IdentityKeeper;

/** Lives from now for so many minutes. */
const fresh = (minutes = 60, from = 0): Identity => readIdentity(identities.identity({ from, until: minutes }));

beforeEach(() => {
  vi.useFakeTimers({ now: Math.floor(Date.now() / 1000) * 1000 });
  vi.resetAllMocks();
  renew.mockImplementation(async () => fresh());
  load.mockImplementation(async () => keeper.current);
  keep.mockResolvedValue();
});
afterEach(() => {
  keeper.stop();
  vi.useRealTimers();
});

async function start(identity: Identity): Promise<IdentityKeeper> {
  keeper = new IdentityKeeper(identity, { renew, load, keep, log });
  await keeper.start();
  return keeper;
}

const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * minuteMs);

describe('a certificate', () => {
  test('is renewed at half of its life, again and again, and written back', async () => {
    await start(fresh());
    const first = keeper.current;
    await pass(29);
    expect(renew).not.toHaveBeenCalled();
    await pass(1);
    expect(renew).toHaveBeenCalledExactlyOnceWith(first);
    expect(keeper.current).not.toBe(first);
    expect(keep).toHaveBeenCalledExactlyOnceWith(keeper.current);
    await pass(29);
    expect(renew).toHaveBeenCalledTimes(1);
    await pass(60);
    expect(renew).toHaveBeenCalledTimes(3);
    expect(log.warn).not.toHaveBeenCalled();
  });

  test('that is past its half is renewed at the start', async () => {
    await start(fresh(10, -50));
    expect(renew).toHaveBeenCalledTimes(1);
  });

  test('is renewed after a night in which no timer ran', async () => {
    await start(fresh(60 * 12));
    vi.setSystemTime(Date.now() + 7 * 60 * minuteMs);
    await pass(1);
    expect(renew).toHaveBeenCalledTimes(1);
  });

  test('is renewed in time after a clock that was wrong for a moment', async () => {
    const right = Date.now();
    await start(fresh());
    vi.setSystemTime(right + 24 * 60 * minuteMs);
    renew.mockRejectedValue(new Error('the gateway answered with a certificate that has ended'));
    await pass(1);
    expect(renew).toHaveBeenCalled();
    vi.setSystemTime(right + minuteMs);
    renew.mockReset().mockImplementation(async () => fresh());
    await pass(30);
    expect(renew).toHaveBeenCalledTimes(1);
  });

  test('that cannot live longer is not asked for without pause', async () => {
    // The registration ends for good in three minutes: every certificate is backdated further than that.
    const end = Date.now() + 3 * minuteMs;
    renew.mockImplementation(async () => fresh((end - Date.now()) / minuteMs, -5));
    await start(fresh(3, -57));
    await pass(2.5);
    expect(renew.mock.calls.length).toBeLessThanOrEqual(3);
  });
});

describe('when renewing fails', () => {
  test('the old one stays, it is tried again at growing distances, and the log says how long there is', async () => {
    renew.mockRejectedValue(new Error('nothing listens there'));
    const first = fresh();
    await start(first);
    await pass(30);
    expect(renew).toHaveBeenCalledTimes(1);
    expect(log.warn.mock.calls[0]![0]).toContain('it is good for another 30 min');
    expect(log.warn.mock.calls[0]![1]).toMatchObject({ retry: 'trying again in 5 s' });
    // After 5, 10, 20, 40, 80, 160 and then every 300 seconds.
    await pass(16);
    expect(renew).toHaveBeenCalledTimes(9);
    expect(keeper.current).toBe(first);
    renew.mockImplementation(async () => fresh());
    await pass(5);
    expect(keeper.current).not.toBe(first);
    expect(log.info).toHaveBeenCalledTimes(1);
  });

  test('until it has ended, the log says to register again', async () => {
    renew.mockRejectedValue(new Error('refused'));
    await start(fresh());
    await pass(66);
    expect(log.error.mock.calls[0]![0]).toContain('Register the sandbox again');
  });

  test('an identity that somebody put into the folder meanwhile is taken', async () => {
    renew.mockRejectedValue(new Error('another registration'));
    await start(fresh());
    await pass(31);
    const placed = readIdentity(identities.identity({ id: 'box', binding: 'f'.repeat(32), until: 60 }));
    load.mockResolvedValue(placed);
    await pass(10);
    expect(keeper.current).toBe(placed);
  });

  test('also one that ends sooner: of another registration, it is the only one that is good', async () => {
    renew.mockRejectedValue(new Error('another registration'));
    await start(fresh());
    const placed = readIdentity(identities.identity({ id: 'box', binding: 'f'.repeat(32), until: 45 }));
    load.mockResolvedValue(placed);
    await pass(31);
    expect(keeper.current).toBe(placed);
  });

  test('an older one in the folder, or none that can be read, changes nothing', async () => {
    renew.mockRejectedValue(new Error('no'));
    const first = fresh();
    await start(first);
    load.mockResolvedValueOnce(fresh(30)).mockRejectedValue(new Error('being written'));
    await pass(40);
    expect(keeper.current).toBe(first);
  });
});

test('a folder that cannot be written is said once, and the key is kept in memory', async () => {
  keep.mockRejectedValue(new Error('EROFS'));
  await start(fresh());
  const first = keeper.current;
  await pass(90);
  expect(keeper.current).not.toBe(first);
  expect(keep.mock.calls.length).toBeGreaterThan(1);
  expect(log.warn).toHaveBeenCalledTimes(1);
  expect(log.warn.mock.calls[0]![0]).toContain('in memory only');
});

test('a shim that was stopped renews nothing any more', async () => {
  await start(fresh());
  keeper.stop();
  await pass(120);
  expect(renew).not.toHaveBeenCalled();
});
