import { describe, expect, test } from 'vitest';
import { FairLookups, lookupThreads } from '../../../../../src/stages/forward/dial/fair-lookups.ts';
import { LookupTooSlow, type UpstreamAddress } from '../../../../../src/stages/forward/dial/find-upstream.ts';

const longMs = 60_000;
const address: UpstreamAddress = { address: '192.0.2.1', family: 4 };

/** Look-ups that end when the test says so. */
function resolver(atOnce: number) {
  const asked: string[] = [];
  const ends = new Map<string, { answer: () => void; fail: () => void }>();
  const lookups = new FairLookups((host) => {
    asked.push(host);
    return new Promise((resolve, reject) => {
      ends.set(host, { answer: () => resolve([address]), fail: () => reject(new Error('ENOTFOUND')) });
    });
  }, atOnce);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  /** Nobody waits for it. */
  const ask = (host: string, caller: string): void => void lookups.find(host, caller, longMs).catch(() => {});
  const answer = (host: string) => {
    ends.get(host)!.answer();
    return settled();
  };
  return { asked, ends, lookups, ask, answer, settled };
}

describe('few look-ups at a time, and those of one sandbox are fewer', () => {
  test('each has a quarter of them at once; the rest wait in the order in which they came', async () => {
    const { asked, lookups, answer } = resolver(8);
    const found = ['a', 'b', 'c', 'd'].map((host) => lookups.find(host, 'one', longMs));
    expect(asked).toEqual(['a', 'b']);
    await answer('b');
    expect(asked).toEqual(['a', 'b', 'c']);
    await answer('a');
    await answer('c');
    await answer('d');
    expect(await Promise.all(found)).toEqual([[address], [address], [address], [address]]);
    expect(lookups.queued).toBe(0);
  });

  test('whoever comes new need not wait for the queue of another', () => {
    const { asked, lookups, ask } = resolver(8);
    for (let i = 0; i < 100; i++) ask(`slow-${i}`, 'noisy');
    ask('quick', 'quiet');
    expect(asked).toEqual(['slow-0', 'slow-1', 'quick']);
    expect(lookups.queued).toBe(98);
  });

  test('when all are busy it goes by turns', async () => {
    const { asked, ask, answer } = resolver(1);
    for (const host of ['a1', 'a2', 'a3']) ask(host, 'a');
    for (const host of ['b1', 'b2']) ask(host, 'b');
    for (const host of ['a1', 'b1', 'a2', 'b2', 'a3']) {
      expect(asked.at(-1)).toBe(host);
      await answer(host);
    }
  });

  test('a name that is being looked up is not looked up again, whoever asks', async () => {
    const { asked, lookups, ask, answer } = resolver(8);
    const found = ['one', 'one', 'one', 'two'].map((caller) => lookups.find('same', caller, longMs));
    expect(asked).toEqual(['same']);
    await answer('same');
    expect(await Promise.all(found)).toHaveLength(4);
    ask('same', 'one');
    expect(asked).toEqual(['same', 'same']);
  });

  test('one that fails makes room, and is told to all who wait for it', async () => {
    const { asked, lookups, ask, ends, settled } = resolver(1);
    const failed = [lookups.find('bad', 'one', longMs), lookups.find('bad', 'two', longMs)].map((found) =>
      found.catch((error: Error) => error.message),
    );
    ask('next', 'one');
    ends.get('bad')!.fail();
    await settled();
    expect(await Promise.all(failed)).toEqual(['ENOTFOUND', 'ENOTFOUND']);
    expect(asked).toEqual(['bad', 'next']);
  });
});

describe('a look-up that takes too long', () => {
  test('says whether the resolver was asked; one that was keeps its thread until it ends', async () => {
    const { asked, lookups, ask, answer } = resolver(1);
    const begun = lookups.find('slow', 'one', 5).catch((error: unknown) => error);
    const waiting = lookups.find('behind', 'one', 5).catch((error: unknown) => error);
    expect(await begun).toMatchObject({ begun: true, message: expect.stringContaining('did not answer') });
    expect(await waiting).toMatchObject({ begun: false, message: expect.stringContaining('in the way') });
    expect(await begun).toBeInstanceOf(LookupTooSlow);
    // Whoever gave up is not looked up for any more.
    expect(lookups.queued).toBe(0);
    ask('later', 'two');
    expect(asked).toEqual(['slow']);
    await answer('slow');
    expect(asked).toEqual(['slow', 'later']);
  });
});

test.each([
  [undefined, 2],
  ['', 2],
  ['16', 8],
  ['1', 1],
  ['nonsense', 2],
  ['9999', 512],
])('as many as libuv does at once: UV_THREADPOOL_SIZE %s is %s', (size, atOnce) => {
  expect(lookupThreads(size === undefined ? {} : { UV_THREADPOOL_SIZE: size })).toBe(atOnce);
});
