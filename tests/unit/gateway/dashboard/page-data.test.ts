import { describe, expect, test } from 'vitest';
import { PageData, RefusalGroups, TrafficHistory } from '../../../../src/gateway/dashboard/page-data.ts';
import { FeedSample } from '../../../../src/gateway/dashboard/page-streams.ts';
import { RecentRecords } from '../../../../src/gateway/dashboard/recent-records.ts';
import { SandboxLoad } from '../../../../src/gateway/dashboard/sandbox-load.ts';
import { keepSource } from '../../../../src/policy/load/policy-source.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';
import { fedRecord } from '../../../support/page-ground.ts';
import { fakePorts } from '../admin/fake-ports.ts';

const refused = { verdict: 'refused', code: 'domain.not-allowed', rule: 'allow (no rule covers the host)' };

describe('the newest records are kept', () => {
  test('in number, the newest first', () => {
    const recent = new RecentRecords({ maxCount: 3 });
    for (const id of ['a', 'b', 'c', 'd']) recent.add(fedRecord({ id }));
    expect(recent.newest(10).map(({ id }) => id)).toEqual(['d', 'c', 'b']);
    expect(recent.newest(2).map(({ id }) => id)).toEqual(['d', 'c']);
    expect(recent.find('a')).toBeNull();
    expect(recent.find('b')?.record).toMatchObject({ id: 'b', rule: 'allow[0]' });
  });

  test('and in bytes: large ones push out more', () => {
    const recent = new RecentRecords({ maxBytes: 20_000 });
    for (let i = 0; i < 100; i++) recent.add(fedRecord({ path: `/${'x'.repeat(1_000)}` }));
    expect(recent.bytes).toBeLessThanOrEqual(20_000);
    expect(recent.size).toBeGreaterThan(3);
    recent.add(fedRecord({ path: 'y'.repeat(50_000) }));
    expect([recent.bytes, recent.size]).toEqual([0, 0]);
  });

  test('of one id that comes twice the newer is found, also when the older has gone', () => {
    const recent = new RecentRecords({ maxCount: 2 });
    recent.add(fedRecord({ id: 'same', status: 200 }));
    recent.add(fedRecord({ id: 'same', status: 404 }));
    recent.add(fedRecord());
    expect(recent.find('same')?.record).toMatchObject({ status: 404 });
    recent.add(fedRecord());
    expect(recent.find('same')).toBeNull();
  });
});

describe('what a page is shown of the feed', () => {
  test('of a few requests all, the newest first', () => {
    const sample = new FeedSample();
    for (const id of ['a', 'b', 'c']) sample.add(fedRecord({ id, ...(id === 'b' && refused) }));
    const batch = sample.take()!;
    expect(batch.lines.map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    expect([batch.seen, batch.shown]).toEqual([3, 3]);
    expect(sample.take()).toBeNull();
  });

  test('of many a sample that says so, refusals before others, and no sandbox unseen', () => {
    const sample = new FeedSample();
    sample.add(fedRecord({ id: 'quiet', sandbox: 'quiet' }));
    for (let i = 0; i < 500; i++) sample.add(fedRecord({ sandbox: 'loud', ...(i % 20 === 0 && refused) }));
    const batch = sample.take()!;
    expect([batch.seen, batch.shown, batch.lines.length]).toEqual([501, 40, 40]);
    expect(batch.lines.filter(({ verdict }) => verdict === 'refused')).toHaveLength(25);
    expect(batch.lines.map(({ id }) => id)).toContain('quiet');
    expect(new Set(batch.lines.map(({ id }) => id)).size).toBe(40);
  });

  test('refusals alone fill the batch; beside others they leave some room', () => {
    const sample = new FeedSample();
    for (let i = 0; i < 100; i++) sample.add(fedRecord(refused));
    expect(sample.take()!.lines.every(({ verdict }) => verdict === 'refused')).toBe(true);
    for (let i = 0; i < 200; i++) sample.add(fedRecord(i % 2 === 0 ? refused : {}));
    const passed = sample.take()!.lines.filter(({ verdict }) => verdict === 'allowed');
    expect(passed).toHaveLength(10);
  });
});

describe('sums over time', () => {
  test('an hour in steps of ten seconds, with empty ones, and older ones forgotten', () => {
    let nowMs = 1_800_000_000_000;
    const traffic = new TrafficHistory(() => nowMs);
    traffic.add(fedRecord({ tokens_in: 3, tokens_out: 4, cost_usd: 0.5 }));
    nowMs += 20_000;
    traffic.add(fedRecord(refused));
    const { stepSeconds, points } = traffic.view();
    expect([stepSeconds, points.length]).toEqual([10, 360]);
    expect(points.slice(-3)).toEqual([
      { atMs: nowMs - 20_000, requests: 1, refused: 0, bytesIn: 10, bytesOut: 20, tokens: 7, dollars: 0.5 },
      { atMs: nowMs - 10_000, requests: 0, refused: 0, bytesIn: 0, bytesOut: 0, tokens: 0, dollars: 0 },
      { atMs: nowMs, requests: 1, refused: 1, bytesIn: 10, bytesOut: 20, tokens: 0, dollars: 0 },
    ]);
    nowMs += 3_600_000;
    expect(traffic.view().points.every(({ requests }) => requests === 0)).toBe(true);
  });

  test('the load of a sandbox is that of its last minute, and the silent ones make room', () => {
    let nowMs = 1_800_000_000_000;
    const load = new SandboxLoad(() => nowMs, 2);
    load.add(fedRecord({ sandbox: 'a' }));
    nowMs += 30_000;
    load.add(fedRecord({ sandbox: 'a', ...refused }));
    expect(load.of('a')).toEqual({ requests: 2, refused: 1, bytes: 60 });
    nowMs += 30_000;
    expect(load.of('a').requests).toBe(1);
    nowMs += 60_000;
    expect(load.of('a')).toEqual({ requests: 0, refused: 0, bytes: 0 });
    for (const sandbox of ['b', 'c', null]) load.add(fedRecord({ sandbox }));
    expect(load.size).toBe(2);
    expect(load.of('c').requests).toBe(1);
  });
});

describe('refusals by their rule', () => {
  test('are counted together, with the last thing that was asked for', () => {
    const groups = new RefusalGroups();
    groups.add(fedRecord());
    groups.add(fedRecord({ ...refused, sandbox: 'a', hint: 'first' }));
    groups.add(fedRecord({ ...refused, sandbox: 'b', hint: 'last', method: 'POST', host: 'x.example', port: 8443 }));
    groups.add(fedRecord({ verdict: 'refused', code: 'limit.requests', rule: 'limits.requests_per_minute' }));
    expect(groups.list().map(({ code, count }) => [code, count])).toEqual([
      ['domain.not-allowed', 2],
      ['limit.requests', 1],
    ]);
    expect(groups.list()[0]).toMatchObject({
      sandboxes: ['a', 'b'],
      example: 'POST https://x.example:8443/v1/x',
      hint: 'last',
    });
  });

  test('keep the line of the policy that refused, whatever the policy is by now', async () => {
    const [before, after] = [handMadePolicy({}), handMadePolicy({})];
    const [madeAtMs, time] = [Date.parse('2027-01-15T09:00:00.000Z'), '2027-01-15T09:00:01.000Z'];
    keepSource(before, { file: 'sallyport.yaml', text: 'allow:\n  - host: old.example.com\n', madeAtMs: 0 });
    keepSource(after, { file: 'sallyport.yaml', text: 'allow:\n\n  - host: new.example.com\n', madeAtMs });
    let policy = before;
    const data = new PageData({ ports: fakePorts(), policy: () => policy, isLearning: () => false, now: Date.now });
    data.take(fedRecord({ ...refused, id: 'r-old', rule: 'allow[0]' }));
    policy = after;
    const place = { file: 'sallyport.yaml', line: 2, text: '- host: old.example.com' };
    expect(data.request('r-old')?.place).toEqual(place);
    expect((await data.part('refusals'))[0]?.place).toEqual(place);
    data.take(fedRecord({ ...refused, rule: 'allow[0]', time }));
    expect((await data.part('refusals'))[0]).toMatchObject({ count: 2, place: { line: 3 } });
    // One that came before the change and ended after it: whether the old rule or the new one decided is not known here.
    data.take(fedRecord({ id: 'r-between', rule: 'allow[0]', time: '2027-01-15T08:59:59.000Z' }));
    expect(data.request('r-between')).toMatchObject({ record: { rule: 'allow[0]' }, place: null });
  });

  test('are bounded in groups and in sandboxes', () => {
    const groups = new RefusalGroups(5);
    for (let i = 0; i < 50; i++) groups.add(fedRecord({ ...refused, sandbox: `s${i}` }));
    for (let i = 0; i < 4; i++) groups.add(fedRecord({ ...refused, rule: `rule ${i}` }));
    expect(groups.list().find(({ count }) => count === 50)?.sandboxes).toHaveLength(20);
    for (let i = 4; i < 20; i++) groups.add(fedRecord({ ...refused, rule: `rule ${i}` }));
    expect(groups.list()).toHaveLength(5);
  });
});
