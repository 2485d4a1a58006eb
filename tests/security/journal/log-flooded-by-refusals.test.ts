// Attack: be refused thousands of times a second, so that the operator's log is of no use or the disk fills up.
import { expect, test, vi } from 'vitest';
import { Refusal } from '../../../src/path/refusal.ts';
import { createAudit } from '../../../src/stages/audit/audit-stage.ts';
import { Feed } from '../../../src/stages/audit/feed.ts';
import { forwardedFlow } from '../../unit/stages/audit/flow-fixture.ts';

test('the log shows some refusals and says how many it left out; the journal has them all', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const append = vi.fn(() => 1);
    const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    const metrics = { count: vi.fn(), countUnrecorded: vi.fn() };
    const journal = { append, healthy: true, state: { kind: 'ok' as const } };
    const audit = createAudit({ journal, metrics, feed: new Feed(), log });
    const refusal = new Refusal('domain.not-allowed', 'no');
    const again = () => audit.finish(forwardedFlow(), { verdict: 'refused', status: 403, refusal, error: null });
    for (let i = 0; i < 1000; i++) again();
    expect(append).toHaveBeenCalledTimes(1000);
    expect(log.info).toHaveBeenCalledTimes(20);
    vi.advanceTimersByTime(1001);
    again();
    expect(log.info).toHaveBeenCalledTimes(21);
    expect(log.info).toHaveBeenLastCalledWith('refused', expect.objectContaining({ unshown_before: 980 }));
  } finally {
    vi.useRealTimers();
  }
});
