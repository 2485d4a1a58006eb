import { expect, test, vi } from 'vitest';
import { Refusal, type RefusalCode } from '../../../../../src/path/refusal.ts';
import { CalmJournal } from '../../../../../src/stages/audit/journal/calm-journal.ts';
import { describeFlow, type RecordBody } from '../../../../../src/stages/audit/journal/record.ts';
import { forwardedFlow } from '../flow-fixture.ts';

function recordOf(code: RefusalCode, over: Partial<RecordBody> = {}): RecordBody {
  const refusal = new Refusal(code, 'no');
  return {
    ...describeFlow(forwardedFlow(), { verdict: 'refused', status: refusal.status, refusal, error: null }),
    // Nothing of it went out.
    upstream: null,
    credential: null,
    ...over,
  };
}

function open() {
  const state = { nowMs: 0, written: [] as RecordBody[], waiting: [] as (() => void)[] };
  const onFailure = vi.fn();
  const calm = new CalmJournal({
    journal: {
      append: (record) => state.written.push(record as RecordBody),
      healthy: true,
      state: { kind: 'ok' },
    },
    now: () => state.nowMs,
    later: (act) => {
      state.waiting.push(act);
      return { unref() {} };
    },
    onFailure,
  });
  const tick = (): void => {
    state.nowMs += 1000;
    for (const act of state.waiting.splice(0)) act();
  };
  return { state, calm, tick, onFailure };
}

/** How many refusals a record stands for. */
function counted({ reason }: RecordBody): number {
  const merged = /stands for (\d+) refusals/.exec(reason ?? '');
  return merged === null ? 1 : Number(merged[1]);
}

test('a flood of refusals by a limit is a few records and one that has the number of all others', () => {
  const { state, calm, tick } = open();
  for (let i = 0; i < 5000; i++) calm.append(recordOf('limit.rate'));
  expect(state.written).toHaveLength(20);
  tick();
  expect(state.written).toHaveLength(21);
  expect(counted(state.written[20]!)).toBe(4980);
  expect(state.written[20]).toMatchObject({ code: 'limit.rate', verdict: 'refused', status: 429 });
});

test('the sum is exact over many seconds, callers and codes', () => {
  const { state, calm, tick } = open();
  let sent = 0;
  for (let second = 0; second < 5; second++) {
    for (let i = 0; i < 37 * (second + 1); i++) {
      for (const sandbox of ['one', 'two']) {
        for (const code of ['limit.rate', 'limit.concurrent'] as const) {
          calm.append(recordOf(code, { sandbox }));
          sent++;
        }
      }
      // Also across the end of a second that nobody was there to see.
      state.nowMs += 20;
    }
    if (second % 2 === 0) tick();
  }
  calm.flush();
  expect(state.written.reduce((sum, record) => sum + counted(record), 0)).toBe(sent);
  expect(new Set(state.written.map(({ sandbox, code }) => `${sandbox} ${code}`)).size).toBe(4);
  expect(state.written.length).toBeLessThan(sent);
});

test('other refusals are merged as well, after more of them and with a sample of what was asked', () => {
  const { state, calm, tick } = open();
  for (let i = 0; i < 500; i++) calm.append(recordOf('domain.not-allowed', { path: `/${i}` }));
  expect(state.written).toHaveLength(256);
  tick();
  expect(state.written).toHaveLength(257);
  const { merged } = state.written[256]!;
  expect(merged).toMatchObject({ count: 244, samples: expect.arrayContaining([expect.stringContaining('/256')]) });
  expect(merged!.samples).toHaveLength(8);
});

test('a flood that goes on is written down ever more seldom, and its sum stays exact', () => {
  const { state, calm, tick } = open();
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 100; i++) calm.append(recordOf('domain.not-allowed'));
    tick();
  }
  calm.flush();
  // The first 256, one in a second, and a merged one every ten.
  expect(state.written.length).toBeLessThan(256 + 60 + 12);
  expect(state.written.reduce((sum, record) => sum + counted(record), 0)).toBe(6000);
});

test('what reached the world outside has a record of its own, always and at once', () => {
  const { state, calm } = open();
  for (let i = 0; i < 500; i++) {
    expect(calm.append(recordOf('limit.response-size', { upstream: '192.0.2.1:443' }))).toBeGreaterThan(0);
    expect(calm.append(recordOf('upstream.closed', { credential: 'github' }))).toBeGreaterThan(0);
    expect(calm.append(recordOf('path.not-allowed', { verdict: 'allowed', code: null }))).toBeGreaterThan(0);
  }
  expect(state.written).toHaveLength(1500);
});

test('an incident is not counted among refusals that are none', () => {
  const { state, calm } = open();
  for (let i = 0; i < 500; i++) calm.append(recordOf('secret.value-outbound'));
  calm.append(recordOf('secret.value-outbound', { incident: 'value of github in the body' }));
  expect(state.written).toHaveLength(257);
  expect(state.written[256]).toMatchObject({ incident: 'value of github in the body', merged: null });
});

test('a quiet second later it is written down one by one again', () => {
  const { state, calm, tick } = open();
  for (let i = 0; i < 30; i++) calm.append(recordOf('limit.rate'));
  tick();
  expect(state.written).toHaveLength(21);
  calm.append(recordOf('limit.rate'));
  expect(state.written).toHaveLength(22);
});

test('what cannot be kept in the end is told', () => {
  const { state, calm, tick, onFailure } = open();
  for (let i = 0; i < 30; i++) calm.append(recordOf('limit.rate'));
  Object.defineProperty(state.written, 'push', {
    value: () => {
      throw new Error('the disk is full');
    },
  });
  tick();
  expect(onFailure).toHaveBeenCalledWith(expect.objectContaining({ code: 'limit.rate' }), expect.any(Error));
});
