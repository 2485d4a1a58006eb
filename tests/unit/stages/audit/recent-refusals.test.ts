import { describe, expect, test, vi } from 'vitest';
import { Refusal } from '../../../../src/path/refusal.ts';
import { createAudit } from '../../../../src/stages/audit/audit-stage.ts';
import { Feed } from '../../../../src/stages/audit/feed.ts';
import { describeFlow, type RecordBody } from '../../../../src/stages/audit/journal/record.ts';
import { RecentRefusals } from '../../../../src/stages/audit/recent-refusals.ts';
import { arrivedFlow, forwardedFlow } from './flow-fixture.ts';

const refusal = new Refusal('path.not-allowed', 'POST /v1/messages is not allowed', {
  rule: 'allow[0]',
  hint: 'Add it.',
  cause: new Error('what only the operator may know'),
});

function refused(over: Partial<RecordBody> = {}): RecordBody {
  const outcome = { verdict: 'refused', status: 403, refusal, error: refusal.cause } as const;
  return { ...describeFlow(forwardedFlow(), outcome), ...over };
}

describe('what a sandbox was refused lately', () => {
  test('is told as it was told it, without the cause and without values of the query', () => {
    const refusals = new RecentRefusals();
    refusals.take(refused());
    expect(refusals.of('sbx-1')).toEqual([
      {
        time: '2026-01-02T03:04:05.678Z',
        requestId: 'req-1',
        method: 'POST',
        url: 'https://api.example.com/v1/messages?key=…&beta=…',
        status: 403,
        code: 'path.not-allowed',
        rule: 'allow[0]',
        reason: 'POST /v1/messages is not allowed',
        hint: 'Add it.',
      },
    ]);
  });

  test.each([
    ['http', { scheme: 'http', port: 80, query: null }, 'http://api.example.com/v1/messages'],
    ['http', { port: 8443, query: '' }, 'https://api.example.com:8443/v1/messages?'],
    ['tunnel', { query: null }, 'api.example.com:443'],
    ['connect', { query: null }, 'api.example.com:443'],
    ['lookup', { query: null }, 'api.example.com'],
  ] as const)('names what was asked for: %s %j', (kind, over, url) => {
    const refusals = new RecentRefusals();
    refusals.take(refused({ kind, ...over }));
    expect(refusals.of('sbx-1')[0]!.url).toBe(url);
  });

  test('is the newest twenty of each, the newest first, and nobody else sees it', () => {
    const refusals = new RecentRefusals();
    for (let i = 0; i < 30; i++) refusals.take(refused({ id: `r${i}` }));
    refusals.take(refused({ id: 'other', sandbox: 'sbx-2' }));
    expect(refusals.of('sbx-1').map(({ requestId }) => requestId)).toEqual(
      Array.from({ length: 20 }, (_, i) => `r${29 - i}`),
    );
    expect(refusals.of('sbx-2').map(({ requestId }) => requestId)).toEqual(['other']);
    expect(refusals.of('sbx-3')).toEqual([]);
  });

  test('is kept of so many sandboxes: who was refused longest ago is forgotten', () => {
    const refusals = new RecentRefusals(2);
    for (const sandbox of ['a', 'b', 'a', 'c']) refusals.take(refused({ sandbox }));
    expect(['a', 'b', 'c'].map((id) => refusals.of(id).length)).toEqual([2, 0, 1]);
  });

  test('goes with the sandbox', () => {
    const refusals = new RecentRefusals();
    refusals.take(refused());
    refusals.drop('sbx-1');
    expect(refusals.of('sbx-1')).toEqual([]);
  });

  test('what passed, what was abandoned, and what nobody known has sent is nobody’s refusal', () => {
    const refusals = new RecentRefusals();
    const passed = { verdict: 'allowed', status: 200, refusal: null, error: null } as const;
    const gone = { verdict: 'abandoned', status: 499, refusal: null, error: new Error('gone') } as const;
    const strange = { verdict: 'refused', status: 403, refusal, error: null } as const;
    refusals.take(describeFlow(forwardedFlow(), passed));
    refusals.take(describeFlow(forwardedFlow(), gone));
    refusals.take(describeFlow(arrivedFlow(), strange));
    for (const id of ['sbx-1', 'null', '']) expect(refusals.of(id)).toEqual([]);
  });

  test('comes from the audit, which hands on nothing that was allowed', () => {
    const take = vi.fn();
    const audit = createAudit({
      journal: { append: () => 1, healthy: true, state: { kind: 'ok' } },
      metrics: { count: () => {}, countUnrecorded: () => {} },
      feed: new Feed(),
      refusals: { take },
      log: { info: () => {}, warn: () => {}, error: () => {} },
    });
    audit.finish(forwardedFlow(), { verdict: 'allowed', status: 200, refusal: null, error: null });
    expect(take).not.toHaveBeenCalled();
    audit.finish(forwardedFlow(), { verdict: 'refused', status: 403, refusal, error: null });
    // As a worker hands one in.
    audit.take(refused({ id: 'of a worker' }));
    expect(take.mock.calls.map(([record]) => (record as RecordBody).id)).toEqual(['req-1', 'of a worker']);
  });
});
