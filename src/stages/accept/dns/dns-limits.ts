// How many DNS questions one sandbox, and all of them together, may ask per second. Decides at once and never waits.
// Meters: `d:<caller>:dns` and `g:dns`.
import type { Caller } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { MeterRate, SharedMeters } from '../../../path/shared-store.ts';
import type { DoorLimits } from '../../../policy/compiled-limits.ts';

type DnsLimit = Pick<DoorLimits, 'dnsPerSecond'>;

export interface DnsLimitsOptions {
  readonly limits: () => DnsLimit & { readonly gateway: DnsLimit };
  readonly meters: SharedMeters;
  /** As in ConnectionLimits. */
  readonly gateway?: string;
}

/** Why one question more is too many; null: it is counted. */
export type CountQuestion = (caller: Caller) => Refusal | null;

const burstSeconds = 2;

export function createDnsLimits({ limits, meters, gateway: name = '' }: DnsLimitsOptions): CountQuestion {
  return (caller) => {
    const { dnsPerSecond, gateway } = limits();
    const key = `d:${caller.address === null ? `socket ${caller.socketOf}` : `${name}/${caller.address}`}:dns`;
    const own = rateOf(dnsPerSecond);
    const common = rateOf(gateway.dnsPerSecond);
    if (own !== null && meters.takeNow(key, own) > 0) return tooMany(caller, dnsPerSecond, 'limits.dns_per_second');
    if (common !== null && meters.takeNow('g:dns', common) > 0) {
      return tooMany(null, gateway.dnsPerSecond, 'limits.gateway.dns_per_second');
    }
    return null;
  };
}

function rateOf(perSecond: number): MeterRate | null {
  return perSecond === 0 ? null : { perSecond, burst: perSecond * burstSeconds };
}

function tooMany(caller: Caller | null, perSecond: number, rule: string): Refusal {
  // A flood at a shared door is reported before anybody is identified, so the text is the only place that can say who it was.
  const one = caller?.address == null ? 'this sandbox asks' : `the sandbox at ${caller.address} asks`;
  const who = caller === null ? 'all sandboxes together ask' : one;
  const what = `${who} more DNS questions than allowed (${perSecond * burstSeconds} at once, ${perSecond} a second)`;
  return new Refusal('limit.rate', what, {
    rule,
    hint: `Lookups over the limit are refused or left unanswered, and not recorded one by one. Look for a program that asks in a loop, or raise ${rule}.`,
  });
}
