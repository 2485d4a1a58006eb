// How much may be asked for: requests a minute and at a time, pushes and bytes a minute, by one sandbox, with one
// credential, and by all together. What is counted is kept by the shared meters; this file knows when to ask them and what
// to say. Decides at once wherever they answer at once. What was held for a request is given back when its trail ends.

import { addWrapper } from '../../../path/exchange/wrappers.ts';
import type { Identified, Permission } from '../../../path/flow.ts';
import type { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { SharedMeters, WaitMs } from '../../../path/shared-store.ts';
import type { Trail } from '../../../path/trail.ts';
import type { Limits } from '../../../policy/compiled-limits.ts';
import { FloodBrake } from './flood-brake.ts';
import {
  tooFast,
  tooManyAtOnce,
  tooManyBytes,
  tooManyPushes,
  tooManyTunnels,
  tooMuchEvidence,
} from './limit-refusals.ts';
import {
  type Allowances,
  allowancesOf,
  credentialScope,
  gatewayScope,
  type Scope,
  type ScopeAllowance,
  sandboxScope,
} from './limit-scopes.ts';
import { openPace, PacedExchange, type Share } from './paced-exchange.ts';

export interface RequestLimitsOptions {
  /** Asked for every request, so that a reload holds at once. */
  readonly limits: () => Limits;
  readonly meters: SharedMeters;
  readonly brake?: FloodBrake;
  /** How long a sandbox must wait until it may write into the journal again; left out: it never must. */
  readonly journalWaitMs?: (sandboxId: string) => number;
}

/** Undefined: granted. A promise where the meters must ask elsewhere, or where a refusal is given late. */
export type Admission = undefined | Promise<undefined>;

type Step = 'up' | 'down' | 'open' | 'rate' | 'push';
/** The order in which one scope is asked: what costs nothing to be refused by comes first. */
const ofRequest: readonly Step[] = ['up', 'down', 'open', 'rate'];
const ofPush: readonly Step[] = [...ofRequest, 'push'];
const pushAlone: readonly Step[] = ['push'];
/**
 * A debt of bytes that is paid sooner than this refuses nobody: whatever streams under a limit is in debt from chunk to
 * chunk, and Retry-After cannot say less.
 */
const bearableDebtMs = 1000;

export class RequestLimits {
  readonly #current: () => Limits;
  readonly #meters: SharedMeters;
  readonly #brake: FloodBrake;
  readonly #journalWaitMs: (sandboxId: string) => number;
  readonly #sandboxes = new WeakMap<Sandbox, Scope>();
  readonly #credentials = new Map<string, Scope>();
  readonly #gateway: Scope;
  readonly #release = (key: string): void => this.#meters.release(key);
  #allowances: Allowances | null = null;

  constructor({ limits, meters, brake = new FloodBrake(), journalWaitMs = () => 0 }: RequestLimitsOptions) {
    this.#current = limits;
    this.#meters = meters;
    this.#brake = brake;
    this.#journalWaitMs = journalWaitMs;
    this.#gateway = gatewayScope(this.#release);
  }

  /** Before anything is decided: being refused by the policy counts as well, so that probing is not free. */
  admit(flow: Identified): Admission {
    const scope = this.#scopeOf(flow.sandbox);
    return this.admitRecord(flow) ?? this.#enter(flow, scope, this.#now().sandbox, ofRequest);
  }

  /** What cannot be written down without pushing out what others did is not served. */
  admitRecord(flow: Identified): Admission {
    const waitMs = this.#journalWaitMs(flow.sandbox.id);
    return waitMs > 0 ? this.#refuse(flow, tooMuchEvidence(this.#scopeOf(flow.sandbox), waitMs)) : undefined;
  }

  /** After it was decided: with which credential, and whether it is a push. What all share comes last. */
  admitUse(flow: Identified, permission: Permission): Admission {
    const { sandbox, credential, gateway } = this.#now();
    const isPush = permission.git?.operation === 'receive-pack';
    const name = credential.isOpen ? null : permission.credential;
    const common = isPush ? ofPush : ofRequest;
    if (!isPush && name === null) return this.#enter(flow, this.#gateway, gateway, common);
    return inTurn([
      () => (isPush ? this.#enter(flow, this.#scopeOf(flow.sandbox), sandbox, pushAlone) : undefined),
      () => (name === null ? undefined : this.#enter(flow, this.#credentialScope(name), credential, common)),
      () => this.#enter(flow, this.#gateway, gateway, common),
    ]);
  }

  /**
   * Back from waiting for a person: it takes a place again, and goes on without one where others have taken them all. It was
   * counted when it came. Never more places than there are: whoever lends them would give too many to all that ask there.
   */
  readmit(flow: Identified): Admission {
    const { places } = this.#now().sandbox;
    if (places === 0) return undefined;
    const scope = this.#scopeOf(flow.sandbox);
    const waitMs = this.#meters.hold(scope.open, places);
    if (typeof waitMs === 'number') return this.#takePlace(flow, scope, waitMs);
    return waitMs.then((later) => this.#takePlace(flow, scope, later));
  }

  #takePlace(flow: Identified, scope: Scope, waitMs: WaitMs): undefined {
    if (waitMs === 0) hold(flow.trail, scope);
    return undefined;
  }

  /** A CONNECT: decided at once, by a meter of its own. */
  admitTunnel(flow: Identified): Admission {
    const { sandbox } = this.#now();
    const over = this.admitRecord(flow);
    if (over !== undefined || sandbox.requests === null) return over;
    const scope = this.#scopeOf(flow.sandbox);
    const waitMs = this.#meters.takeNow(scope.connect, sandbox.requests);
    return waitMs > 0 ? this.#refuse(flow, tooManyTunnels(scope, sandbox.limits, waitMs)) : undefined;
  }

  /** Counts its heads, and slows its bodies down to what is left, where bytes are limited. */
  pace(flow: Identified, permission: Permission): void {
    const now = this.#now();
    if (!now.countsBodies) return;
    const shares: Share[] = [this.#share(this.#scopeOf(flow.sandbox), now.sandbox)];
    if (permission.credential !== null) {
      shares.push(this.#share(this.#credentialScope(permission.credential), now.credential));
    }
    shares.push(this.#share(this.#gateway, now.gateway));
    const pace = openPace(this.#meters, shares, now.limits.responseBodyBytes);
    // A head carries as well as a body does: as much as `head_bytes`, as often as requests may come.
    pace.up?.spend(flow.request.target.length + flow.request.headers.bytes);
    flow.trail.alsoRelease(() => pace.stop());
    addWrapper(flow, 'paced', (inner) => new PacedExchange(inner, pace));
  }

  #share({ up, down }: Scope, allowance: ScopeAllowance): Share {
    return { up, down, upRate: allowance.up, downRate: allowance.down };
  }

  #enter(flow: Identified, scope: Scope, allowance: ScopeAllowance, steps: readonly Step[], from = 0): Admission {
    if (allowance.isOpen) return undefined;
    for (let i = from; i < steps.length; i++) {
      const step = steps[i]!;
      const waitMs = this.#ask(step, scope, allowance);
      if (typeof waitMs !== 'number') {
        return waitMs.then(
          (later) =>
            this.#settle(flow, scope, allowance, step, later) ?? this.#enter(flow, scope, allowance, steps, i + 1),
        );
      }
      const refused = this.#settle(flow, scope, allowance, step, waitMs);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  #settle(flow: Identified, scope: Scope, allowance: ScopeAllowance, step: Step, waitMs: WaitMs): Admission {
    if (waitMs > 0) return this.#refuse(flow, refusalOf(step, scope, allowance, waitMs));
    if (step === 'open' && allowance.places > 0) hold(flow.trail, scope);
    return undefined;
  }

  #ask(step: Step, scope: Scope, allowance: ScopeAllowance): WaitMs | Promise<WaitMs> {
    const { requests, pushes, places } = allowance;
    if (step === 'rate') return requests === null ? 0 : this.#meters.take(scope.rate, requests);
    if (step === 'open') return places === 0 ? 0 : this.#meters.hold(scope.open, places);
    if (step === 'push') return pushes === null ? 0 : this.#meters.take(scope.push, pushes);
    const rate = allowance[step];
    if (rate === null) return 0;
    const debtMs = this.#meters.debtMs(scope[step], rate);
    return debtMs < bearableDebtMs ? 0 : debtMs;
  }

  /** Gives back what the request held, now: its refusal may be sent later. */
  #refuse(flow: Identified, refusal: Refusal): Promise<never> {
    flow.trail.end();
    return this.#brake.refuse(this.#scopeOf(flow.sandbox), refusal);
  }

  #now(): Allowances {
    const limits = this.#current();
    if (this.#allowances?.limits !== limits) this.#allowances = allowancesOf(limits);
    return this.#allowances;
  }

  #scopeOf(sandbox: Sandbox): Scope {
    let scope = this.#sandboxes.get(sandbox);
    if (scope === undefined) {
      scope = sandboxScope(sandbox, this.#release);
      this.#sandboxes.set(sandbox, scope);
    }
    return scope;
  }

  /** As many as the policy names. */
  #credentialScope(name: string): Scope {
    let scope = this.#credentials.get(name);
    if (scope === undefined) {
      scope = credentialScope(name, this.#release);
      this.#credentials.set(name, scope);
    }
    return scope;
  }
}

/** One after the other, and none after one that refused. */
function inTurn(asked: readonly (() => Admission)[], from = 0): Admission {
  for (let i = from; i < asked.length; i++) {
    const admission = asked[i]!();
    if (admission !== undefined) return admission.then(() => inTurn(asked, i + 1));
  }
  return undefined;
}

function hold(trail: Trail, { release }: Scope): void {
  if (trail.release === null) trail.release = release;
  else trail.alsoRelease(release);
}

function refusalOf(step: Step, scope: Scope, { limits }: ScopeAllowance, waitMs: WaitMs): Refusal {
  if (step === 'rate') return tooFast(scope, limits, waitMs);
  if (step === 'open') return tooManyAtOnce(scope, limits, waitMs);
  if (step === 'push') return tooManyPushes(scope, limits, waitMs);
  if (step === 'up') return tooManyBytes(scope, 'upload', limits.uploadBytesPerMinute, waitMs);
  return tooManyBytes(scope, 'download', limits.downloadBytesPerMinute, waitMs);
}
