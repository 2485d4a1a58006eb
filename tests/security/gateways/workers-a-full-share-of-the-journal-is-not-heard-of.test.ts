// Attack: use up the share of the journal at one worker and go on at another; and have the relay hold more than it has room for.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JournalRelay } from '../../../src/gateway/workers/journal-relay.ts';
import { Refusal } from '../../../src/path/refusal.ts';
import { readRecord } from '../../../src/stages/audit/journal/read-record.ts';
import { describeFlow } from '../../../src/stages/audit/journal/record.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, registered, servedBy, startWorkersGround, type WorkersGround } from '../../support/workers-ground.ts';
import { forwardedFlow } from '../../unit/stages/audit/flow-fixture.ts';

describe('two workers', () => {
  let ground: WorkersGround;

  beforeAll(async () => {
    ground = await startWorkersGround({ audit: { sandbox_bytes_per_day: 65_536 } });
    await registered(ground, { id: 'loud', container_ip: '127.0.0.1' });
  }, 60_000);

  afterAll(() => ground.remove());

  test('both refuse who has written its share, whichever has served it', { timeout: 60_000 }, async () => {
    const wires = await Promise.all(Array.from({ length: 12 }, () => ground.open()));
    const askAll = (): Promise<number[]> => Promise.all(wires.map((wire) => ask(wire)));
    const loudly = () => ground.journal().filter(({ sandbox, method }) => sandbox === 'loud' && method === 'GET');
    let served = 0;
    await eventually(async () => {
      const statuses = await askAll();
      served += statuses.filter((status) => status === 200).length;
      return statuses.every((status) => status === 429);
    }, 'all of them are refused');
    expect(await askAll()).toEqual(wires.map(() => 429));
    await eventually(() => loudly().some(({ code }) => code === 'limit.journal'), 'it is written down');
    const workers = (verdict: string): Set<string> =>
      new Set(loudly().flatMap((record) => (record.verdict === verdict ? [servedBy(record)] : [])));
    expect(workers('allowed').size).toBe(2);
    expect(workers('refused').size).toBe(2);
    // Its share, and what was under way when it was used up.
    expect(served).toBeLessThan(200);
    expect(loudly().filter(({ verdict }) => verdict === 'allowed')).toHaveLength(served);
    for (const { socket } of wires) socket.destroy();
  });
});

describe('the relay of a worker', () => {
  function silentRelay() {
    let isAnswered = false;
    const relay = new JournalRelay({
      send: () => (isAnswered ? Promise.resolve() : new Promise(() => {})),
      health: { healthy: true, reason: '', over: [] },
      isSilent: () => false,
      maxUnderWay: 100,
    });
    return { relay, answer: () => (isAnswered = true) };
  }

  test('does not hold more than it has room for: what it cannot take is said to be lost', () => {
    const { relay } = silentRelay();
    let lost = 0;
    for (let i = 0; i < 1000; i++) {
      try {
        relay.append({ i });
      } catch {
        lost++;
      }
    }
    // Nothing is served from the hundredth on; refusals have as much room again.
    expect(relay.healthy).toBe(false);
    expect(lost).toBe(800);
  });

  test('forgets who must wait when its time is over, and when it is told', () => {
    const { relay } = silentRelay();
    relay.setHealth({ healthy: true, reason: '', over: [['loud', 60_000]] });
    expect(relay.waitMs('loud')).toBeGreaterThan(59_000);
    expect(relay.waitMs('quiet')).toBe(0);
    relay.setHealth({ healthy: true, reason: '', over: [] });
    expect(relay.waitMs('loud')).toBe(0);
  });

  test.each([
    ['three bytes a character', '漢'],
    ['escapes', '\u0001'],
    ['halves of characters', '\ud800'],
    ['quotes', '"\\'],
  ])('no request makes a record for which a worker is ended: %s', (_what, piece) => {
    const text = piece.repeat(20_000);
    const flow = forwardedFlow();
    const refusal = new Refusal('path.not-allowed', text, { rule: text, hint: text, cause: new Error(text) });
    const record = describeFlow(
      {
        ...flow,
        canonical: { ...flow.canonical, host: text, path: `/${text}`, query: text },
        request: { ...flow.request, method: text },
        asked: text,
        incident: text,
        used: { model: text, tokensIn: 1e8, tokensOut: 1e8, microDollars: 1e15, isEstimated: true },
      },
      { verdict: 'refused', status: 403, refusal, error: null },
    );
    expect(readRecord(structuredClone(record))).toEqual(record);
  });
});
