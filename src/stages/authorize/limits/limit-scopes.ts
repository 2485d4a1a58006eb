// Whose limits a request counts against (its sandbox, the credential it will carry, the whole gateway) and the names of
// the meters for each. The names are the same in every gateway and worker: those that share a store share them. A sandbox
// that is registered anew under an old id has meters of its own.
//   s:<id>@<when registered>:  c:<credential>:  g:   each with  rate  open  push  up  down;  of a sandbox also  connect

import type { Sandbox } from '../../../path/sandbox.ts';
import type { MeterRate } from '../../../path/shared-store.ts';
import type { Limits, UseLimits } from '../../../policy/compiled-limits.ts';

export interface Scope {
  /** What stands before the key in the policy. */
  readonly section: 'limits' | 'limits.credential' | 'limits.gateway';
  /** Begins a sentence that the sandbox may read: nothing in it tells of another. */
  readonly who: string;
  readonly rate: string;
  readonly open: string;
  readonly push: string;
  readonly up: string;
  readonly down: string;
  readonly connect: string;
  /** Gives the place back that a request had: one function for all of them. */
  readonly release: () => void;
}

type Release = (key: string) => void;

export function sandboxScope({ id, createdAt }: Sandbox, release: Release): Scope {
  const registered = Date.parse(createdAt);
  return scopeOf('limits', id, `s:${id}@${Number.isNaN(registered) ? createdAt : registered.toString(36)}`, release);
}

export function credentialScope(name: string, release: Release): Scope {
  return scopeOf('limits.credential', `the credential ${name}, which sandboxes share,`, `c:${name}`, release);
}

export function gatewayScope(release: Release): Scope {
  return scopeOf('limits.gateway', 'the gateway as a whole', 'g', release);
}

function scopeOf(section: Scope['section'], who: string, prefix: string, release: Release): Scope {
  const open = `${prefix}:open`;
  return {
    section,
    who,
    rate: `${prefix}:rate`,
    open,
    push: `${prefix}:push`,
    up: `${prefix}:up`,
    down: `${prefix}:down`,
    connect: `${prefix}:connect`,
    release: () => release(open),
  };
}

/** What one scope allows, as the meters take it. Null and 0: no limit. */
export interface ScopeAllowance {
  readonly limits: UseLimits;
  readonly requests: MeterRate | null;
  readonly pushes: MeterRate | null;
  readonly up: MeterRate | null;
  readonly down: MeterRate | null;
  readonly places: number;
  /** Nothing at all is limited. */
  readonly isOpen: boolean;
}

export interface Allowances {
  readonly limits: Limits;
  readonly sandbox: ScopeAllowance;
  readonly credential: ScopeAllowance;
  readonly gateway: ScopeAllowance;
  /** Bodies are counted: by the minute, or the length of an answer. */
  readonly countsBodies: boolean;
}

export function allowancesOf(limits: Limits): Allowances {
  const [sandbox, credential, gateway] = [limits, limits.credential, limits.gateway].map(allowanceOf) as [
    ScopeAllowance,
    ScopeAllowance,
    ScopeAllowance,
  ];
  const paced = [sandbox, credential, gateway].some(({ up, down }) => up !== null || down !== null);
  return { limits, sandbox, credential, gateway, countsBodies: paced || limits.responseBodyBytes > 0 };
}

function allowanceOf(limits: UseLimits): ScopeAllowance {
  const requests = perMinute(limits.requestsPerMinute, limits.burst);
  const pushes = perMinute(limits.pushesPerMinute, limits.pushesPerMinute);
  // As with requests, a minute's worth may come at once after a quiet time.
  const up = perMinute(limits.uploadBytesPerMinute, limits.uploadBytesPerMinute);
  const down = perMinute(limits.downloadBytesPerMinute, limits.downloadBytesPerMinute);
  const places = limits.concurrentRequests;
  const isOpen = places === 0 && [requests, pushes, up, down].every((rate) => rate === null);
  return { limits, requests, pushes, up, down, places, isOpen };
}

function perMinute(amount: number, burst: number): MeterRate | null {
  return amount === 0 ? null : { perSecond: amount / 60, burst };
}
