import { describe, expect, test } from 'vitest';
import { Heartbeat } from '../../../../src/gateway/workers/heartbeat.ts';
import { JournalRelay } from '../../../../src/gateway/workers/journal-relay.ts';

const ok = { healthy: true, reason: '', over: [] };

function relayWith(options: { silent?: () => boolean; maxUnderWay?: number } = {}) {
  const batches: (readonly object[])[] = [];
  const taken: (() => void)[] = [];
  const relay = new JournalRelay({
    send: (records) => {
      batches.push(records);
      return new Promise<void>((resolve) => taken.push(resolve));
    },
    health: ok,
    isSilent: options.silent ?? (() => false),
    ...(options.maxUnderWay !== undefined && { maxUnderWay: options.maxUnderWay }),
  });
  const take = async (): Promise<void> => {
    for (const resolve of taken.splice(0)) resolve();
    await turn();
  };
  return { relay, batches, take };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

describe('the journal of a worker', () => {
  test('sends the records of a turn together, in order, each once', async () => {
    const { relay, batches } = relayWith();
    const records = Array.from({ length: 600 }, (_, n) => ({ n }));
    for (const record of records) relay.append(record);
    await turn();
    expect(batches.flat()).toEqual(records);
    expect(batches.every((batch) => batch.length <= 256)).toBe(true);
    await turn();
    expect(batches).toHaveLength(3);
  });

  test('is settled only when the other process has taken everything', async () => {
    const { relay, take } = relayWith();
    relay.append({ n: 1 });
    let isSettled = false;
    const settled = relay.settled().then(() => {
      isSettled = true;
    });
    await turn();
    expect(isSettled).toBe(false);
    await take();
    await settled;
    expect(isSettled).toBe(true);
  });

  test('is not healthy while too many records are under way', async () => {
    const { relay, take } = relayWith({ maxUnderWay: 3 });
    for (const n of [1, 2, 3]) relay.append({ n });
    expect(relay.healthy).toBe(false);
    expect(relay.state).toMatchObject({ kind: 'failing', reason: expect.stringContaining('3 records behind') });
    await turn();
    await take();
    expect(relay.healthy).toBe(true);
  });

  test('is as healthy as the journal itself, as far as it was told', () => {
    const { relay } = relayWith();
    relay.setHealth({ healthy: false, reason: 'the disk is full', over: [] });
    expect(relay.healthy).toBe(false);
    expect(relay.state).toEqual({ kind: 'failing', reason: 'the disk is full' });
    relay.setHealth(ok);
    expect(relay.healthy).toBe(true);
  });

  test('is not healthy while the other process is silent', () => {
    let silent = true;
    const { relay } = relayWith({ silent: () => silent });
    expect(relay.healthy).toBe(false);
    silent = false;
    expect(relay.healthy).toBe(true);
  });
});

describe('whether the other process answers', () => {
  test('one that has not answered a question for five seconds is silent, until it answers', async () => {
    let nowMs = 0;
    let answer = (): void => {};
    const ask = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    const beat = new Heartbeat({ now: () => nowMs });
    beat.beat(ask);
    nowMs = 5_000;
    expect(beat.isSilent()).toBe(false);
    nowMs = 5_001;
    expect(beat.isSilent()).toBe(true);
    answer();
    await turn();
    expect(beat.isSilent()).toBe(false);
    beat.stop();
  });

  test('one that was not asked is not silent', () => {
    let nowMs = 0;
    const beat = new Heartbeat({ now: () => nowMs });
    nowMs = 60_000;
    expect(beat.isSilent()).toBe(false);
    beat.stop();
  });
});
