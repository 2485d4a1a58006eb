import { expect, test } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import { createDnsLimits } from '../../../../../src/stages/accept/dns/dns-limits.ts';
import { callerFrom } from '../../../../support/hand-made-flow.ts';
import { usualLimits } from '../../../../support/hand-made-limits.ts';

function open(own: number, all: number) {
  const state = { nowMs: 0 };
  const limits = { ...usualLimits, dnsPerSecond: own, gateway: { ...usualLimits.gateway, dnsPerSecond: all } };
  const count = createDnsLimits({ limits: () => limits, meters: new LocalMeters(() => state.nowMs) });
  const ask = (address: string | null, times: number) =>
    Array.from({ length: times }, () => count(callerFrom({ address, socketOf: address === null ? 'sbx' : null })));
  return {
    state,
    ask,
    answered: (address: string | null, times: number) => ask(address, times).filter((one) => one === null).length,
  };
}

test("two seconds' worth of questions at once, then so many a second; each sandbox for itself", () => {
  const { state, answered } = open(10, 0);
  expect(answered('172.30.0.11', 50)).toBe(20);
  expect(answered(null, 50)).toBe(20);
  state.nowMs += 1000;
  expect(answered('172.30.0.11', 50)).toBe(10);
});

test('a limit for all of them, which who is over its own does not use up', () => {
  const { ask, answered } = open(10, 15);
  expect(answered('172.30.0.11', 500)).toBe(20);
  expect(answered('172.30.0.12', 500)).toBe(10);
  expect(ask('172.30.0.11', 1)[0]).toMatchObject({ code: 'limit.rate', rule: 'limits.dns_per_second' });
  const common = ask('172.30.0.13', 1)[0]!;
  expect(common).toMatchObject({ code: 'limit.rate', rule: 'limits.gateway.dns_per_second' });
  expect(common.message).not.toContain('172.30');
});

test('0 is no limit', () => {
  expect(open(0, 0).answered('172.30.0.11', 5000)).toBe(5000);
});
