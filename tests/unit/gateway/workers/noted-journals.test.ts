import { expect, test } from 'vitest';
import { NotedJournals } from '../../../../src/gateway/workers/noted-journals.ts';
import type { WorkerJournalState } from '../../../../src/gateway/workers/worker-verbs.ts';

const state = (seq: number, closed = false): WorkerJournalState => ({
  healthy: true,
  reason: '',
  seq,
  queued: 0,
  files: 1,
  room: 1,
  head: { seq, hash: 'a'.repeat(64) },
  closed,
});

test('where a journal stands is noted when a worker begins, every hour while it grows, and when it is closed', () => {
  const noted: string[] = [];
  let nowMs = 0;
  const journals = new NotedJournals({
    note: (worker, { seq }, how) => noted.push(`${worker} ${how} at ${seq}`),
    now: () => nowMs,
  });
  const life = {};
  journals.heard(life, 2, { ...state(4), head: null });
  expect(noted).toEqual([]);
  for (const [atMs, seq] of [
    [0, 4],
    [1000, 5],
    [3_600_000, 9],
    [7_200_000, 9],
  ] as const) {
    nowMs = atMs;
    journals.heard(life, 2, state(seq));
  }
  journals.heard(life, 2, state(12, true));
  journals.heard(life, 2, state(12, true));
  journals.heard({}, 2, state(12));
  expect(noted).toEqual(['2 begins at 4', '2 stands at 9', '2 is closed at 12', '2 begins at 12']);
});
