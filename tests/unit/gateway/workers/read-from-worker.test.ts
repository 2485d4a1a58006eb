import { describe, expect, test } from 'vitest';
import { readFromWorker } from '../../../../src/gateway/workers/read-from-worker.ts';

const journal = {
  healthy: true,
  reason: '',
  seq: 1,
  queued: 0,
  files: 1,
  room: 1,
  head: { seq: 1, hash: 'a'.repeat(64) },
  closed: false,
};
const beat = { openConnections: 1, openCircuits: 0, dialsOk: 0, dialsFailed: 0, unrecorded: 1, lost: 1, journal };

describe('what a worker says is read before it is believed', () => {
  test.each([
    ['extend', [['one', 5]]],
    ['beat', beat],
    ['served', { counts: {}, sandboxes: [['one', 800, true]], credentials: ['key'] }],
    ['shown', { seq: 1, record: {} }],
    ['load', null],
  ] as const)('what has its shape is taken: %s', (verb, body) => {
    expect(readFromWorker[verb](body)).toEqual(body);
  });

  test.each([
    ['an amount below nothing', 'draw', { key: 'k', rate: { perSecond: 1, burst: 1 }, least: 1, wanted: -5 }],
    ['a key of any length', 'get', { key: 'k'.repeat(513) }],
    ['a member more', 'remove', { id: 'one', all: true }],
    ['a value that is too large', 'put', { key: 'k', value: 'v'.repeat(17 * 1024 ** 2), keepMs: 1 }],
    ['bytes below nothing', 'served', { counts: {}, sandboxes: [['one', -800, true]], credentials: [] }],
    ['no hash', 'beat', { ...beat, journal: { ...journal, head: { seq: 1, hash: 'a' } } }],
    ['no number', 'unlock', { ticket: 'all' }],
    ['more records than a batch has', 'records', Array.from({ length: 1025 }, () => ({}))],
  ] as const)('anything else is not: %s', (_what, verb, body) => {
    expect(() => readFromWorker[verb](body)).toThrow();
  });
});
