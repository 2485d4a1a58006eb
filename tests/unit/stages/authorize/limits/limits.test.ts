import { afterEach, describe, expect, test, vi } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import { LocalTallies } from '../../../../../src/gateway/store/local-tallies.ts';
import { createMeterLeases } from '../../../../../src/gateway/store/meter-leases.ts';
import { createQuotaServer } from '../../../../../src/gateway/store/quota-server.ts';
import type { BodyWriter, Exchange } from '../../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { wrappedExchange } from '../../../../../src/path/exchange/wrappers.ts';
import type { Identified, Permission } from '../../../../../src/path/flow.ts';
import type { Refusal } from '../../../../../src/path/refusal.ts';
import type { SharedMeters } from '../../../../../src/path/shared-store.ts';
import type { Limits } from '../../../../../src/policy/compiled-limits.ts';
import { FloodBrake } from '../../../../../src/stages/authorize/limits/flood-brake.ts';
import { RequestLimits } from '../../../../../src/stages/authorize/limits/limits.ts';
import { acceptedFlow, callerFrom, canonicalOf, refusalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { usualLimits } from '../../../../support/hand-made-limits.ts';

const none = {
  requestsPerMinute: 0,
  burst: 0,
  concurrentRequests: 0,
  uploadBytesPerMinute: 0,
  downloadBytesPerMinute: 0,
  pushesPerMinute: 0,
};

type Over = Partial<typeof none>;

function limitsWith(sandbox: Over, credential: Over = {}, gateway: Over = {}): Limits {
  return {
    ...usualLimits,
    ...none,
    ...burstOf(sandbox),
    credential: { ...none, ...burstOf(credential) },
    gateway: { ...usualLimits.gateway, ...none, ...burstOf(gateway) },
  };
}

function burstOf(over: Over): Over {
  return { burst: over.requestsPerMinute ?? 0, ...over };
}

function open(sandbox: Over, credential: Over = {}, gateway: Over = {}) {
  const state = { nowMs: 1000, limits: limitsWith(sandbox, credential, gateway) };
  const meters = new LocalMeters(() => state.nowMs);
  return { state, meters, limits: new RequestLimits({ limits: () => state.limits, meters }) };
}

function flowOf(sandbox = sandboxWith()): Identified {
  return { ...acceptedFlow(callerFrom(), canonicalOf('GET', 'https://api.example/')), sandbox };
}

const plain: Permission = {
  rule: 'allow[0]',
  tunnel: false,
  credential: null,
  git: null,
  github: null,
  repository: null,
};
const carrying: Permission = { ...plain, credential: 'github' };
const pushing: Permission = {
  ...carrying,
  git: { repository: 'acme/widgets', rawRepositoryPath: '/acme/widgets', operation: 'receive-pack', ticket: null },
};

/** One request from its beginning to its end. */
function pass(limits: RequestLimits, permission: Permission = plain, flow: Identified = flowOf()): Identified {
  for (const admission of [limits.admit(flow), limits.admitUse(flow, permission)]) {
    if (admission !== undefined) throw new Error('it was not decided at once');
  }
  flow.trail.end();
  return flow;
}

describe('a sandbox has a number of requests per minute', () => {
  test("a minute's worth may come at once; the next is told how long to wait, and by which key", () => {
    const { limits } = open({ requestsPerMinute: 10 });
    for (let i = 0; i < 10; i++) pass(limits);
    expect(refusalOf(() => limits.admit(flowOf()))).toMatchObject({
      code: 'limit.rate',
      status: 429,
      retryAfterSeconds: 6,
      rule: 'limits.requests_per_minute',
      message: 'sbx_test is over 10 requests per minute',
    });
  });

  test('waiting as long as it was told is enough, and no more than the rate comes back', () => {
    const { limits, state } = open({ requestsPerMinute: 10 });
    for (let i = 0; i < 10; i++) pass(limits);
    state.nowMs += 6000;
    pass(limits);
    expect(refusalOf(() => limits.admit(flowOf())).code).toBe('limit.rate');
    state.nowMs += 3_600_000;
    for (let i = 0; i < 10; i++) pass(limits);
    expect(refusalOf(() => limits.admit(flowOf())).code).toBe('limit.rate');
  });

  test('a burst is what may come at once, whatever the rate', () => {
    const { limits } = open({ requestsPerMinute: 600, burst: 3 });
    for (let i = 0; i < 3; i++) pass(limits);
    expect(refusalOf(() => limits.admit(flowOf()))).toMatchObject({ code: 'limit.rate', retryAfterSeconds: 1 });
  });

  test('being refused costs nothing further', () => {
    const { limits, state } = open({ requestsPerMinute: 1 });
    pass(limits);
    for (let i = 0; i < 20; i++) refusalOf(() => limits.admit(flowOf()));
    state.nowMs += 60_000;
    expect(pass(limits).trail.release).toBeNull();
  });

  test('one sandbox does not use up what another has, nor what one that had its id before did', () => {
    const { limits } = open({ requestsPerMinute: 1 });
    pass(limits, plain, flowOf(sandboxWith({ id: 'one' })));
    pass(limits, plain, flowOf(sandboxWith({ id: 'two' })));
    pass(limits, plain, flowOf(sandboxWith({ id: 'one', createdAt: '2026-01-02T00:00:00.000Z' })));
    // The same registration, read again from the store, is the same sandbox.
    const again = flowOf(sandboxWith({ id: 'one' }));
    expect(refusalOf(() => limits.admit(again)).code).toBe('limit.rate');
  });

  test('a changed limit holds at once', () => {
    const { limits, state } = open({ requestsPerMinute: 1000 });
    pass(limits);
    state.limits = limitsWith({ requestsPerMinute: 1 });
    pass(limits);
    expect(refusalOf(() => limits.admit(flowOf())).code).toBe('limit.rate');
  });

  test('asking for tunnels is counted by itself, at the same rate', () => {
    const { limits, state } = open({ requestsPerMinute: 3 });
    for (let i = 0; i < 3; i++) expect(limits.admitTunnel(flowOf())).toBeUndefined();
    expect(refusalOf(() => limits.admitTunnel(flowOf()))).toMatchObject({
      code: 'limit.rate',
      rule: 'limits.requests_per_minute',
      retryAfterSeconds: 20,
    });
    pass(limits);
    state.nowMs += 20_000;
    expect(limits.admitTunnel(flowOf())).toBeUndefined();
  });
});

test('who has written its share of the journal is refused in every way, and nobody else is', () => {
  const limits = new RequestLimits({
    limits: () => limitsWith({}),
    meters: new LocalMeters(() => 0),
    journalWaitMs: (id) => (id === 'loud' ? 90_000 : 0),
  });
  const loud = flowOf(sandboxWith({ id: 'loud' }));
  const over = { code: 'limit.journal', status: 429, rule: 'audit.sandbox_bytes_per_day', retryAfterSeconds: 90 };
  // The last is for a transparent connection, which nothing else counts here.
  for (const way of ['admit', 'admitTunnel', 'admitRecord'] as const) {
    expect(refusalOf(() => limits[way](loud))).toMatchObject(over);
    expect(limits[way](flowOf(sandboxWith({ id: 'quiet' })))).toBeUndefined();
  }
});

describe('a sandbox has a number of requests at a time', () => {
  test('one more than that is refused until one is over', () => {
    const { limits } = open({ concurrentRequests: 2 });
    const first = flowOf();
    expect(limits.admit(first)).toBeUndefined();
    expect(limits.admit(flowOf())).toBeUndefined();
    expect(refusalOf(() => limits.admit(flowOf()))).toMatchObject({
      code: 'limit.concurrent',
      retryAfterSeconds: 1,
      rule: 'limits.concurrent_requests',
    });
    first.trail.end();
    expect(limits.admit(flowOf())).toBeUndefined();
    expect(refusalOf(() => limits.admit(flowOf())).code).toBe('limit.concurrent');
  });

  test('who comes back from waiting for a person goes on, with a place or without, and takes none from others', async () => {
    const counting = new LocalMeters(() => 1000);
    const [one, two] = [1, 2].map(() =>
      createMeterLeases(createQuotaServer(counting, new LocalTallies()), { now: () => 1000 }),
    );
    const limits = limitsWith({ concurrentRequests: 2 });
    const [here, there] = [one!, two!].map((meters) => new RequestLimits({ limits: () => limits, meters }));
    await here!.readmit(flowOf());
    const beside = flowOf();
    await there!.admit(beside);
    await expect(there!.admit(flowOf())).rejects.toMatchObject({ code: 'limit.concurrent' });
    const third = flowOf();
    await there!.readmit(third);
    third.trail.end();
    await expect(here!.admit(flowOf())).rejects.toMatchObject({ code: 'limit.concurrent' });
    for (const meters of [one!, two!]) meters.close();
  });

  test('whoever is refused by the rate holds no place, also while it is told late', () => {
    const { limits, meters } = open({ requestsPerMinute: 1, concurrentRequests: 5 });
    pass(limits);
    for (let i = 0; i < 4; i++) refusalOf(() => limits.admit(flowOf()));
    for (let i = 0; i < 5; i++) expect(meters.hold('s:sbx_test@mjuohs00:open', 5)).toBe(0);
  });
});

describe('what is common comes after what is its own', () => {
  test('a credential has limits for whoever carries it, and none for who does not', () => {
    const { limits } = open({}, { requestsPerMinute: 2 });
    pass(limits, carrying, flowOf(sandboxWith({ id: 'one' })));
    pass(limits, carrying, flowOf(sandboxWith({ id: 'two' })));
    const three = flowOf(sandboxWith({ id: 'three' }));
    expect(limits.admit(three)).toBeUndefined();
    const refusal = refusalOf(() => limits.admitUse(three, carrying));
    expect(refusal).toMatchObject({
      code: 'limit.rate',
      rule: 'limits.credential.requests_per_minute',
      message: 'the credential github, which sandboxes share, is over 2 requests per minute',
      retryAfterSeconds: 30,
    });
    expect(`${refusal.message} ${refusal.hint}`).not.toMatch(/one|two/);
    pass(limits, plain, flowOf(sandboxWith({ id: 'three' })));
  });

  test('the gateway has limits for all together', () => {
    const { limits } = open({}, {}, { requestsPerMinute: 2 });
    pass(limits, carrying, flowOf(sandboxWith({ id: 'one' })));
    pass(limits, plain, flowOf(sandboxWith({ id: 'two' })));
    const flow = flowOf();
    expect(limits.admit(flow)).toBeUndefined();
    expect(refusalOf(() => limits.admitUse(flow, plain))).toMatchObject({
      code: 'limit.rate',
      rule: 'limits.gateway.requests_per_minute',
      message: 'the gateway as a whole is over 2 requests per minute',
    });
  });

  test('who is over its own limit does not use up the common one', () => {
    const { limits } = open({ requestsPerMinute: 2 }, {}, { requestsPerMinute: 3 });
    for (let i = 0; i < 2; i++) pass(limits, plain, flowOf(sandboxWith({ id: 'noisy' })));
    for (let i = 0; i < 10; i++) refusalOf(() => limits.admit(flowOf(sandboxWith({ id: 'noisy' }))));
    pass(limits, plain, flowOf(sandboxWith({ id: 'quiet' })));
  });

  test('places that were taken before a later limit refused are given back', () => {
    const { limits } = open({ concurrentRequests: 1 }, { concurrentRequests: 1 }, { requestsPerMinute: 1 });
    pass(limits, carrying);
    for (let i = 0; i < 3; i++) {
      const flow = flowOf();
      expect(limits.admit(flow)).toBeUndefined();
      expect(refusalOf(() => limits.admitUse(flow, carrying)).rule).toBe('limits.gateway.requests_per_minute');
    }
  });

  test('places at a time are counted in all three', () => {
    for (const [scopes, rule] of [
      [[{}, { concurrentRequests: 1 }], 'limits.credential.concurrent_requests'],
      [[{}, {}, { concurrentRequests: 1 }], 'limits.gateway.concurrent_requests'],
    ] as const) {
      const { limits } = open(...(scopes as unknown as [Over, Over, Over]));
      const first = flowOf();
      expect(limits.admitUse(first, carrying)).toBeUndefined();
      expect(refusalOf(() => limits.admitUse(flowOf(), carrying))).toMatchObject({ code: 'limit.concurrent', rule });
      first.trail.end();
      expect(limits.admitUse(flowOf(), carrying)).toBeUndefined();
    }
  });
});

describe('pushes are counted by themselves', () => {
  test.each([
    [{ pushesPerMinute: 1 }, {}, {}, 'limits.pushes_per_minute'],
    [{}, { pushesPerMinute: 1 }, {}, 'limits.credential.pushes_per_minute'],
    [{}, {}, { pushesPerMinute: 1 }, 'limits.gateway.pushes_per_minute'],
  ])('%j %j %j -> %s', (sandbox, credential, gateway, rule) => {
    const { limits } = open(sandbox, credential, gateway);
    pass(limits, pushing);
    const flow = flowOf();
    expect(limits.admit(flow)).toBeUndefined();
    expect(refusalOf(() => limits.admitUse(flow, pushing))).toMatchObject({
      code: 'limit.pushes',
      status: 429,
      rule,
      retryAfterSeconds: 60,
    });
    // A fetch of the same repository is no push.
    pass(limits, { ...pushing, git: { ...pushing.git!, operation: 'upload-pack' } });
  });
});

describe('bytes refuse requests while they are owed', () => {
  test.each([
    ['up', 'upload', 'sent'],
    ['down', 'download', 'received'],
  ] as const)('%s', (way, key, word) => {
    const { limits, meters, state } = open({ [`${key}BytesPerMinute`]: 600 });
    const meter = `s:sbx_test@mjuohs00:${way}`;
    meters.spend(meter, { perSecond: 10, burst: 600 }, 605);
    // Half a second's worth: whatever streams under a limit owes as much from chunk to chunk.
    pass(limits);
    meters.spend(meter, { perSecond: 10, burst: 600 }, 100);
    expect(refusalOf(() => limits.admit(flowOf()))).toMatchObject({
      code: 'limit.bytes',
      rule: `limits.${key}_bytes_per_minute`,
      message: `sbx_test has ${word} more than 600 bytes per minute`,
      retryAfterSeconds: 11,
    });
    state.nowMs += 11_000;
    pass(limits);
  });
});

describe('bodies under a limit of bytes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('are counted for the sandbox, its credential and the gateway, and nothing waits when the flow is over', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const bytes = { downloadBytesPerMinute: 600 };
    const { limits, meters } = open(bytes, bytes, bytes);
    const client = { write: () => true } as unknown as BodyWriter;
    const flow = { ...flowOf(), exchange: { respond: () => client } as unknown as Exchange };
    limits.pace(flow, carrying);
    const head = { status: 200, reason: 'OK', headers: new HeaderList(), framing: { kind: 'chunked' } as const };
    expect(wrappedExchange(flow).respond(head).write(Buffer.alloc(1000))).toBe(false);
    for (const key of ['s:sbx_test@mjuohs00:down', 'c:github:down', 'g:down']) {
      expect(meters.left(key, { perSecond: 10, burst: 600 })).toBe(-400);
    }
    expect(vi.getTimerCount()).toBe(1);
    flow.trail.end();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('without a limit nothing is asked', () => {
  test('of all meters none is touched', () => {
    const { meters, limits } = open({});
    pass(limits, pushing);
    expect(limits.admitTunnel(flowOf())).toBeUndefined();
    const flow = flowOf();
    const { exchange } = flow;
    limits.pace(flow, pushing);
    expect(meters.size).toBe(0);
    expect(wrappedExchange(flow)).toBe(exchange);
  });
});

describe('meters that must ask elsewhere', () => {
  /** The same meters, each answer a turn later. */
  function later(meters: LocalMeters): SharedMeters {
    return {
      take: (key, rate, amount) => Promise.resolve().then(() => meters.take(key, rate, amount)),
      takeNow: (key, rate) => meters.takeNow(key, rate),
      spend: (key, rate, amount) => meters.spend(key, rate, amount),
      debtMs: (key, rate) => meters.debtMs(key, rate),
      hold: (key, limit) => Promise.resolve().then(() => meters.hold(key, limit)),
      release: (key) => meters.release(key),
    };
  }

  test('decide the same, in the same order, and give back the same', async () => {
    const meters = new LocalMeters(() => 0);
    const set = limitsWith(
      { requestsPerMinute: 3, concurrentRequests: 1 },
      { concurrentRequests: 1 },
      { requestsPerMinute: 2, concurrentRequests: 1 },
    );
    const limits = new RequestLimits({ limits: () => set, meters: later(meters) });
    for (let i = 0; i < 2; i++) {
      const flow = flowOf();
      await limits.admit(flow);
      await limits.admitUse(flow, carrying);
      await expect(limits.admit(flowOf())).rejects.toMatchObject({ rule: 'limits.concurrent_requests' });
      flow.trail.end();
    }
    const third = flowOf();
    await limits.admit(third);
    await expect(limits.admitUse(third, carrying)).rejects.toMatchObject({
      rule: 'limits.gateway.requests_per_minute',
    });
    await expect(limits.admit(flowOf())).rejects.toMatchObject({ rule: 'limits.requests_per_minute' });
    for (const key of ['s:sbx_test@mjuohs00:open', 'c:github:open', 'g:open']) expect(meters.hold(key, 1)).toBe(0);
  });
});

describe('who is refused over and over is told late', () => {
  test('past twenty refusals in a second, and never while it keeps to its limits', async () => {
    const state = { nowMs: 0, waiting: [] as (() => void)[] };
    const brake = new FloodBrake({ now: () => state.nowMs, later: (act) => state.waiting.push(act) });
    const set = limitsWith({ requestsPerMinute: 1 });
    const limits = new RequestLimits({ limits: () => set, meters: new LocalMeters(() => state.nowMs), brake });
    pass(limits);
    for (let i = 0; i < 20; i++) refusalOf(() => limits.admit(flowOf(shared)));
    const late = limits.admit(flowOf(shared))!;
    expect(state.waiting).toHaveLength(1);
    pass(limits, plain, flowOf(sandboxWith({ id: 'quiet' })));
    const told = expect(late).rejects.toMatchObject({ code: 'limit.rate' });
    for (const act of state.waiting.splice(0)) act();
    await told;
    state.nowMs += 1001;
    // A quiet second, and it is told at once again.
    expect(refusalOf(() => limits.admit(flowOf(shared))).code).toBe('limit.rate');
  });

  test('no more than a thousand or so wait; those over it are told at once and lose their connection', () => {
    const waiting: (() => void)[] = [];
    const brake = new FloodBrake({ now: () => 0, later: (act) => waiting.push(act) });
    const set = limitsWith({ requestsPerMinute: 1 });
    const limits = new RequestLimits({ limits: () => set, meters: new LocalMeters(() => 0), brake });
    const prompt: boolean[] = [];
    for (let i = 0; i < 3000; i++) {
      try {
        limits.admit(flowOf(shared))?.catch(() => {});
      } catch (error) {
        prompt.push((error as Refusal).endsConnection);
      }
    }
    expect(waiting).toHaveLength(1024);
    expect(prompt).toHaveLength(3000 - 1024 - 1);
    expect(prompt.slice(0, 20)).not.toContain(true);
    expect(prompt.slice(20)).not.toContain(false);
    for (const act of waiting) act();
  });
});

const shared = sandboxWith();
