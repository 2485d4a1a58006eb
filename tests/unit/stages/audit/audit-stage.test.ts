import { describe, expect, test, vi } from 'vitest';
import { Refusal } from '../../../../src/path/refusal.ts';
import { type AuditParts, createAudit } from '../../../../src/stages/audit/audit-stage.ts';
import { Feed } from '../../../../src/stages/audit/feed.ts';
import type { JournalState } from '../../../../src/stages/audit/journal/journal.ts';
import type { RecordedOutcome } from '../../../../src/stages/audit/journal/record.ts';
import { forwardedFlow } from './flow-fixture.ts';

const allowed: RecordedOutcome = { verdict: 'allowed', status: 200, refusal: null, error: null };
const refusal = new Refusal('domain.not-allowed', 'evil.example is not allowed');
const refused: RecordedOutcome = { verdict: 'refused', status: 403, refusal, error: null };

function parts() {
  const state: JournalState = { kind: 'ok' };
  return {
    journal: { append: vi.fn(() => 41), healthy: true as boolean, state: state as JournalState },
    metrics: { count: vi.fn(), countUnrecorded: vi.fn() },
    feed: new Feed(),
    log: { info: vi.fn(), warn: vi.fn(), error: vi.fn() },
  } satisfies AuditParts;
}

describe('every flow ends in the audit', () => {
  test('what was allowed is recorded, counted and shown, and not logged', () => {
    const all = parts();
    const seen = vi.fn();
    all.feed.subscribe(seen);
    createAudit(all).finish(forwardedFlow(), allowed);
    const record = expect.objectContaining({ id: 'req-1', verdict: 'allowed' });
    expect(all.journal.append).toHaveBeenCalledExactlyOnceWith(record);
    expect(all.metrics.count).toHaveBeenCalledExactlyOnceWith(record);
    expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ seq: 41, id: 'req-1' }));
    expect(all.log.info).not.toHaveBeenCalled();
    expect(all.log.error).not.toHaveBeenCalled();
  });

  test('a refusal is logged at info', () => {
    const all = parts();
    createAudit(all).finish(forwardedFlow(), refused);
    expect(all.log.info).toHaveBeenCalledExactlyOnceWith(
      'refused',
      expect.objectContaining({ code: 'domain.not-allowed', reason: 'evil.example is not allowed', sandbox: 'sbx-1' }),
    );
  });

  test('an incident is logged at warn, refused or not', () => {
    const all = parts();
    const incident = 'placeholder of github in the body';
    const audit = createAudit(all);
    audit.finish({ ...forwardedFlow(), incident }, refused);
    audit.finish({ ...forwardedFlow(), incident }, allowed);
    expect(all.log.warn).toHaveBeenCalledTimes(2);
    expect(all.log.warn).toHaveBeenCalledWith('incident', expect.objectContaining({ incident, sandbox: 'sbx-1' }));
    expect(all.log.info).not.toHaveBeenCalled();
  });

  test('what must not be written down is taken out before it is', () => {
    const all = parts();
    createAudit({ ...all, clean: (text) => text.replaceAll('messages', '***') }).finish(forwardedFlow(), allowed);
    expect(all.journal.append).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ path: '/v1/***' }));
  });

  test('a fault of ours is logged at error with the error itself', () => {
    const all = parts();
    const error = new TypeError('x is undefined');
    createAudit(all).finish(forwardedFlow(), { verdict: 'failed', status: 500, refusal: null, error });
    expect(all.log.error).toHaveBeenCalledExactlyOnceWith(expect.any(String), expect.objectContaining({ error }));
  });

  test('a client that went away is recorded and not logged', () => {
    const all = parts();
    createAudit(all).finish(forwardedFlow(), {
      verdict: 'abandoned',
      status: 0,
      refusal: null,
      error: new Error('gone'),
    });
    expect(all.journal.append).toHaveBeenCalledOnce();
    expect(all.log.error).not.toHaveBeenCalled();
  });

  test('a record the journal cannot take goes to the log, is counted, and nothing is thrown', () => {
    const all = parts();
    all.journal.append.mockImplementation(() => {
      throw new Error('full');
    });
    createAudit(all).finish(forwardedFlow(), allowed);
    expect(all.metrics.countUnrecorded).toHaveBeenCalledOnce();
    expect(all.log.error).toHaveBeenCalledWith(
      expect.stringContaining('could not be kept'),
      expect.objectContaining({ record: expect.objectContaining({ id: 'req-1' }) }),
    );
  });

  test('without a journal nothing is served, and only the operator hears why', () => {
    const all = parts();
    const audit = createAudit(all);
    audit.requireJournal();
    all.journal.healthy = false;
    all.journal.state = { kind: 'failing', reason: 'no space in /var' };
    let thrown: unknown = null;
    try {
      audit.requireJournal();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(Refusal);
    expect(thrown).toMatchObject({
      code: 'audit.unavailable',
      cause: expect.objectContaining({ message: 'no space in /var' }),
    });
    expect((thrown as Refusal).message).not.toContain('/var');
  });
});

describe('the feed', () => {
  test('takes so many listeners and no more, and lets them go', () => {
    const feed = new Feed(2);
    const stop = feed.subscribe(() => {});
    feed.subscribe(() => {});
    expect(feed.subscribe(() => {})).toBeNull();
    stop!();
    expect(feed.subscribe(() => {})).not.toBeNull();
  });

  test('drops a listener that throws and still tells the others', () => {
    const all = parts();
    const seen = vi.fn();
    all.feed.subscribe(() => {
      throw new Error('broken pipe');
    });
    all.feed.subscribe(seen);
    const audit = createAudit(all);
    audit.finish(forwardedFlow(), allowed);
    audit.finish(forwardedFlow(), allowed);
    expect(seen).toHaveBeenCalledTimes(2);
    expect(all.feed.size).toBe(1);
  });
});
