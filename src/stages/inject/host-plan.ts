// What injection has to know about a host, worked out once per policy and host: which fields and parameters are
// removed, and where each credential goes. Every credential that covers the host counts, not only the one that will
// be put in: a placeholder must not reach the host's telemetry paths either.

import type { CompiledPolicy, CredentialSpec, Injection, Placement } from '../../policy/compiled.ts';
import { hopByHopNames } from '../../protocols/http/hop-by-hop.ts';

/** A policy with wildcards lets a sandbox think up names without end. */
const maxHosts = 4096;

/**
 * Not asked for with a credential: its answer in pieces could bring it back in two halves, neither of which is it. A server
 * may answer any range with all of it (RFC 9110 section 14.2).
 */
const inPieces = ['range', 'if-range'];

/** Fields of requests that end here: hop-by-hop ones, and what would tell the upstream about proxies and sandboxes. */
const alwaysDropped: ReadonlySet<string> = new Set([
  ...hopByHopNames(),
  // Host is written from the canonical authority; Expect is answered by the exchange.
  'expect',
  'forwarded',
  'host',
  'via',
  'x-real-ip',
]);

export interface CredentialPlan {
  readonly spec: CredentialSpec;
  /** Those of its placements that cover the host, in the order of the document. */
  readonly placements: readonly Placement[];
  /** `HostPlan.drop`, the fields that this credential's forced companions replace, and the fields that ask for a form of the answer. */
  readonly drop: ReadonlySet<string>;
}

export interface HostPlan {
  /** True when any credential covers the host. */
  readonly credentialed: boolean;
  /** Lower-case names of the fields that never go out. */
  readonly drop: ReadonlySet<string>;
  readonly stripQuery: ReadonlySet<string>;
  readonly credentials: ReadonlyMap<string, CredentialPlan>;
}

export class HostPlans {
  readonly #byPolicy = new WeakMap<CompiledPolicy, Map<string, HostPlan>>();
  readonly #names = new WeakMap<CompiledPolicy, ReadonlySet<string>>();

  /** The fields of every credential of the policy, whatever its host. */
  namesOf(policy: CompiledPolicy): ReadonlySet<string> {
    let names = this.#names.get(policy);
    if (names === undefined) {
      const specs = [...policy.credentials.values()];
      const placed = specs.flatMap(({ placements }) => placements.map(({ injection }) => injection));
      names = new Set([
        ...specs.flatMap(({ stripHeaders }) => stripHeaders.map((name) => name.toLowerCase())),
        ...placed.flatMap(fieldsOf),
      ]);
      this.#names.set(policy, names);
    }
    return names;
  }

  planFor(policy: CompiledPolicy, host: string): HostPlan {
    let plans = this.#byPolicy.get(policy);
    if (plans === undefined) {
      plans = new Map();
      this.#byPolicy.set(policy, plans);
    }
    let plan = plans.get(host);
    if (plan === undefined) {
      if (plans.size >= maxHosts) plans.clear();
      plan = makePlan(policy, host);
      plans.set(host, plan);
    }
    return plan;
  }
}

/** True for a field that must not go out. Upstreams that fold `_` into `-` would read `x_api_key` as a key, too. */
export function isDropped(drop: ReadonlySet<string>, key: string): boolean {
  if (drop.has(key)) return true;
  const folded = key.includes('_') ? key.replaceAll('_', '-') : key;
  return (folded !== key && drop.has(folded)) || folded.startsWith('x-forwarded-') || folded.startsWith(':');
}

function makePlan(policy: CompiledPolicy, host: string): HostPlan {
  const specs = policy.credentialsFor(host);
  const drop = new Set(alwaysDropped);
  const stripQuery = new Set<string>();
  for (const spec of specs) {
    for (const name of spec.stripHeaders) drop.add(name.toLowerCase());
    for (const name of spec.stripQuery) stripQuery.add(name);
    // The places we write to are cleared whether or not the specification lists them.
    for (const { injection } of spec.placements) {
      if (injection.kind === 'query') stripQuery.add(injection.parameter);
      else for (const field of fieldsOf(injection)) drop.add(field);
    }
  }
  const credentials = new Map<string, CredentialPlan>();
  for (const spec of specs) {
    const placements = spec.placements.filter((placement) => placement.hosts.some((pattern) => pattern.covers(host)));
    // Keys that only sign are never sent, so no half of them comes back; and clients of S3 take for granted that a range is a
    // range. Where answers are not searched at all, halves make no difference.
    const signs = placements.every(({ injection }) => injection.kind === 'sigv4');
    const own = new Set([...drop, ...(signs || !policy.secrets.scrub ? [] : inPieces)]);
    for (const [name] of spec.companionForced) own.add(name.toLowerCase());
    credentials.set(spec.name, { spec, placements, drop: own });
  }
  return { credentialed: specs.length > 0, drop, stripQuery, credentials };
}

/** In lower case. What goes elsewhere than into a field, or signs, may be sent in `authorization` by clients all the same. */
function fieldsOf(injection: Injection): readonly string[] {
  if (injection.kind === 'header') return [injection.header.toLowerCase()];
  if (injection.kind !== 'hmac') return ['authorization'];
  const { header, format } = injection.hmac;
  return [header.toLowerCase(), ...(format === 'slack' ? ['x-slack-request-timestamp'] : [])];
}
