import { beforeEach, describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../../../src/path/exchange/outgoing-request.ts';
import type { Injected } from '../../../../../src/path/flow.ts';
import { Refusal, type RefusalCode, refusalStatus } from '../../../../../src/path/refusal.ts';
import { granted } from '../../../../../src/path/stamps/granted.ts';
import { usualCircuits } from '../../../../../src/stages/forward/dial/circuit-breaker.ts';
import { LookupTooSlow } from '../../../../../src/stages/forward/dial/find-upstream.ts';
import { type CircuitReport, UpstreamCircuits } from '../../../../../src/stages/forward/dial/upstream-circuits.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';

let nowMs = 0;
let reports: CircuitReport[] = [];
let circuits: UpstreamCircuits;

beforeEach(() => {
  nowMs = 1_000;
  reports = [];
  circuits = new UpstreamCircuits((report) => reports.push(report), {
    ...usualCircuits,
    nowMs: () => nowMs,
    random: () => 0.5,
  });
});

function flowOf(sandbox: string, url = 'https://api.example/', kind: 'http' | 'tunnel' = 'http'): Injected {
  return {
    ...acceptedFlow(callerFrom(), canonicalOf('GET', url, kind)),
    sandbox: sandboxWith({ id: sandbox }),
    permission: granted({
      rule: 'allow[0]',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
    }),
    outgoing: new OutgoingRequest('/', new HeaderList()),
    injected: null,
  };
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

async function dialsBadly(flow: Injected, error: Error): Promise<void> {
  await circuits.dial(flow, () => Promise.reject(error)).catch(() => {});
}

/** How a request of each sandbox fares: may it go, and may it dial? */
async function fates(...flows: Injected[]): Promise<string[]> {
  const fate = async (flow: Injected): Promise<string> => {
    try {
      circuits.admit(flow);
      return await circuits.dial(flow, async () => 'goes');
    } catch (error) {
      return error instanceof Refusal ? error.code : String(error);
    }
  };
  // One after the other, and without telling the breaker that anything went well.
  const found: string[] = [];
  for (const flow of flows) found.push(await fate(flow));
  return found;
}

const shut = 'upstream.circuit-open';
const times = [1, 2, 3, 4, 5];

describe('a way that cannot be opened counts for everybody', () => {
  test.each<[RefusalCode, Error | undefined]>([
    ['upstream.unresolved', systemError('ENOTFOUND')],
    ['upstream.connect', systemError('ECONNREFUSED')],
    ['upstream.connect', new AggregateError([systemError('ECONNREFUSED'), systemError('EHOSTUNREACH')])],
    ['upstream.connect', systemError('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')],
    ['upstream.certificate', systemError('CERT_HAS_EXPIRED')],
    ['upstream.timeout', undefined],
    ['upstream.proxy', undefined],
  ])('%s (%s)', async (code, cause) => {
    for (const _ of times) await dialsBadly(flowOf('one'), new Refusal(code, 'no', { cause }));
    expect(await fates(flowOf('one'), flowOf('two'), flowOf('(gateway)'))).toEqual([shut, shut, shut]);
    expect(await fates(flowOf('one', 'https://other.example/'), flowOf('one', 'https://api.example:8443/'))).toEqual([
      'goes',
      'goes',
    ]);
    expect(reports).toEqual([
      expect.objectContaining({ change: 'opened', upstream: 'https://api.example:443', sandbox: null }),
    ]);
  });

  test('a tunnel is not refused for what is wrong with TLS, nor the other way round', async () => {
    const tunnel = flowOf('one', 'https://api.example/', 'tunnel');
    for (const _ of times) await dialsBadly(flowOf('one'), new Refusal('upstream.certificate', 'no'));
    expect(await fates(tunnel)).toEqual(['goes']);
    circuits.drop(null);
    for (const _ of times) await dialsBadly(tunnel, new Refusal('upstream.connect', 'no'));
    expect(await fates(tunnel, flowOf('one'))).toEqual([shut, 'goes']);
  });

  test('a connection that is made closes it', async () => {
    for (const _ of times) await dialsBadly(flowOf('one'), new Refusal('upstream.connect', 'no'));
    nowMs += 1_000;
    expect(await circuits.dial(flowOf('two'), async () => 'there')).toBe('there');
    expect(await fates(flowOf('one'))).toEqual(['goes']);
    expect(reports.map(({ change }) => change)).toEqual(['opened', 'closed']);
    expect(circuits.openCount).toBe(0);
  });

  test('those who wait for the dial of another are not counted, and none waits for the one that tries', async () => {
    const failing = Promise.reject(new Refusal('upstream.connect', 'no'));
    for (const _ of [...times, ...times]) await circuits.join(flowOf('one'), failing).catch(() => {});
    expect(circuits.openCount).toBe(0);
    for (const _ of times) await dialsBadly(flowOf('one'), new Refusal('upstream.connect', 'no'));
    nowMs += 1_000;
    let answer: (value: string) => void = () => {};
    const trial = circuits.dial(flowOf('one'), () => new Promise<string>((resolve) => (answer = resolve)));
    await expect(circuits.join(flowOf('two'), trial)).rejects.toMatchObject({ code: shut });
    answer('there');
    expect(await trial).toBe('there');
  });
});

describe('what a sandbox could bring about counts for that sandbox alone', () => {
  test.each<RefusalCode>(['upstream.closed', 'upstream.protocol', 'upstream.timeout'])(
    '%s before a head',
    async (code) => {
      for (const _ of times) circuits.unanswered(flowOf('one'), new Refusal(code, 'no'));
      expect(await fates(flowOf('one'), flowOf('two'))).toEqual([shut, 'goes']);
      expect(reports).toEqual([
        expect.objectContaining({ change: 'opened', upstream: 'https://api.example:443', sandbox: 'one' }),
      ]);
      circuits.drop('one');
      expect(await fates(flowOf('one'))).toEqual(['goes']);
    },
  );

  test.each([
    ['a resolver that does not answer', 'upstream.timeout' as const, new LookupTooSlow(100, true)],
    ['a resolver that is overwhelmed', 'upstream.unresolved' as const, systemError('EAI_AGAIN')],
  ])('%s', async (_what, code, cause) => {
    for (const _ of times) await dialsBadly(flowOf('one'), new Refusal(code, 'no', { cause }));
    expect(await fates(flowOf('one'), flowOf('two'))).toEqual([shut, 'goes']);
  });

  test('a look-up that had to wait for others was put to nobody, and counts for nobody', async () => {
    const refusal = new Refusal('upstream.timeout', 'no', { cause: new LookupTooSlow(100, false) });
    for (const _ of times) await dialsBadly(flowOf('one'), refusal);
    expect(await fates(flowOf('one'), flowOf('two'))).toEqual(['goes', 'goes']);
  });

  test('a tunnel is left alone for them, too, and one that opens is the answer', async () => {
    const tunnel = (): Injected => flowOf('one', 'https://api.example/', 'tunnel');
    const slow = new Refusal('upstream.timeout', 'no', { cause: new LookupTooSlow(100, true) });
    const fails = (): Promise<string> => Promise.reject(slow);
    for (const _ of times) await expect(circuits.openTunnel(tunnel(), fails)).rejects.toBe(slow);
    await expect(circuits.openTunnel(tunnel(), fails)).rejects.toMatchObject({ code: shut });
    nowMs += 1_000;
    await expect(circuits.openTunnel(tunnel(), fails)).rejects.toBe(slow);
    nowMs += 2_000;
    expect(await circuits.openTunnel(tunnel(), async () => 'open')).toBe('open');
    expect(reports.map(({ change }) => change)).toEqual(['opened', 'closed']);
    expect(circuits.openCount).toBe(0);
  });

  test('an answer closes it, whatever it says', async () => {
    for (const _ of times) circuits.unanswered(flowOf('one'), new Refusal('upstream.closed', 'no'));
    nowMs += 1_000;
    const trial = flowOf('one');
    expect(circuits.admit(trial)).toBe(true);
    expect(await fates(flowOf('one'))).toEqual([shut]);
    circuits.answered(trial);
    circuits.over(trial);
    expect(await fates(flowOf('one'))).toEqual(['goes']);
  });

  test('one that tries and goes away leaves it to the next', async () => {
    for (const _ of times) circuits.unanswered(flowOf('one'), new Refusal('upstream.closed', 'no'));
    nowMs += 1_000;
    const trial = flowOf('one');
    circuits.admit(trial);
    circuits.over(trial);
    expect(circuits.admit(flowOf('one'))).toBe(true);
  });
});

describe('what is no failure of the upstream never counts', () => {
  const ours = (Object.keys(refusalStatus) as RefusalCode[]).filter((code) => !code.startsWith('upstream.'));

  test.each([...ours, shut, 'upstream.address-refused'] as const)('%s', async (code) => {
    for (const _ of [...times, ...times]) {
      await dialsBadly(flowOf('one'), new Refusal(code, 'no'));
      circuits.unanswered(flowOf('one'), new Refusal(code, 'no'));
    }
    expect(circuits.openCount).toBe(0);
    expect(await fates(flowOf('one'))).toEqual(['goes']);
  });

  test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'EPERM', 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'])(
    'what this machine has run out of, or what was wrongly asked: %s',
    async (code) => {
      for (const cause of [systemError(code), new AggregateError([systemError('ECONNREFUSED'), systemError(code)])]) {
        for (const _ of times) await dialsBadly(flowOf('one'), new Refusal('upstream.connect', 'no', { cause }));
      }
      expect(circuits.openCount).toBe(0);
    },
  );

  test('a fault of our own', async () => {
    for (const _ of times) await dialsBadly(flowOf('one'), new TypeError('ours'));
    expect(circuits.openCount).toBe(0);
  });
});

test('the log is not flooded by a sandbox that makes up hosts, and says how much it was spared', () => {
  const failsAt = (host: string): void => {
    for (const _ of times) circuits.unanswered(flowOf('one', `https://${host}/`), new Refusal('upstream.closed', 'no'));
  };
  for (let i = 0; i < 100; i++) failsAt(`h${i}.example`);
  expect(reports).toHaveLength(30);
  nowMs += 60_001;
  failsAt('later.example');
  expect(reports.at(-1)).toMatchObject({ upstream: 'https://later.example:443', untold: 70 });
});
