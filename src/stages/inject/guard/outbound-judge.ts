// What is done about a placeholder or a real value in what a sandbox sends: nothing where the placeholder belongs to the host, a
// record where an agent only quotes it to a model, else a refusal, and the end of the sandbox if the policy says so.
// Never says or keeps the value, nor any part of it.

import { enrich } from '../../../path/enrich.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import type { Sign } from './outbound-signs.ts';

export interface OutboundPorts {
  /** Unregisters the sandbox, with all its connections. */
  readonly revoke: (sandboxId: string) => void;
  /** Something that the operator should hear of at once. */
  readonly report: (what: string, detail: Record<string, unknown>) => void;
}

/** Where it stands. `body`, `message`: what a conversation consists of. */
export interface OutboundPlace {
  readonly kind: 'head' | 'body' | 'message';
  /** e.g. `the query`, `the field x-note`. */
  readonly words: string;
}

/** A policy with wildcards lets a sandbox think up names without end. */
const maxHosts = 4096;

export class OutboundJudge {
  readonly #policy: () => CompiledPolicy;
  readonly #ports: OutboundPorts;
  #homesOf: CompiledPolicy | null = null;
  /** By host: the credentials that belong there. */
  readonly #homes = new Map<string, ReadonlySet<string>>();

  constructor(policy: () => CompiledPolicy, ports: OutboundPorts) {
    this.#policy = policy;
    this.#ports = ports;
  }

  /** Whether a placeholder belongs to this host; asked for every request that has one. */
  isAtHome({ kind, credential }: Sign, host: string): boolean {
    if (kind !== 'placeholder') return false;
    const policy = this.#policy();
    if (policy !== this.#homesOf || this.#homes.size >= maxHosts) {
      this.#homes.clear();
      this.#homesOf = policy;
    }
    let home = this.#homes.get(host);
    if (home === undefined) {
      home = credentialsOf(policy, host);
      this.#homes.set(host, home);
    }
    return home.has(credential);
  }

  /** Throws the refusal, unless it may pass. */
  judge(flow: Authorized, sign: Sign, place: OutboundPlace): void {
    if (this.isAtHome(sign, flow.canonical.host)) return;
    const policy = this.#policy();
    const incident = `${sign.kind} of ${sign.credential} in ${place.words}`;
    const isTalk = sign.kind === 'placeholder' && place.kind !== 'head' && isConversation(policy, flow);
    if (isTalk && policy.secrets.conversations === 'record') {
      this.#record(flow, incident, place);
      return;
    }
    enrich(flow, { incident });
    if (policy.secrets.misplaced === 'revoke') this.#revoke(flow, incident);
    throw sign.kind === 'value'
      ? valueOutbound(sign, place, policy)
      : placeholderMisplaced(sign, place, policy, isTalk);
  }

  #record(flow: Authorized, incident: string, place: OutboundPlace): void {
    const before = flow.incident;
    if (before === undefined) enrich(flow, { incident });
    else if (!before.includes(incident)) enrich(flow, { incident: `${before}, ${incident}` });
    else return;
    // The record of a WebSocket is written when it ends, which may be in hours.
    if (place.kind !== 'message') return;
    const { requestId: id, sandbox, canonical } = flow;
    this.#ports.report('incident', { id, sandbox: sandbox.id, host: canonical.host, incident });
  }

  /** Runs after the sandbox has got its refusal, which is sent at once: this closes all its connections. */
  #revoke({ requestId: id, sandbox }: Authorized, incident: string): void {
    setImmediate(() => {
      this.#ports.report('a sandbox is unregistered for what it sent', { id, sandbox: sandbox.id, incident });
      this.#ports.revoke(sandbox.id);
    });
  }
}

/** Those with a place there, and those whose clients get their tokens there. */
function credentialsOf(policy: CompiledPolicy, host: string): ReadonlySet<string> {
  const names = new Set(policy.credentialsFor(host).map(({ name }) => name));
  for (const { spec } of policy.tokenEndpoints.on(host)) names.add(spec.name);
  return names;
}

/**
 * The permission names the rule; a preset gives several rules of one name, so it must be one that covers the request. What a
 * person has approved (`approval a1`) is no rule of the policy: what its bodies are is said by the one that asks.
 */
function isConversation(policy: CompiledPolicy, { canonical, permission }: Authorized): boolean {
  const { host, path, method } = canonical;
  const rule = policy
    .rulesFor(host)
    .find(
      ({ name, methods, paths }) =>
        (name === permission.rule || permission.rule.startsWith('approval ')) &&
        (methods === null || methods.has(method)) &&
        (paths === null || paths.some((pattern) => pattern.covers(path))),
    );
  return rule?.conversation === true;
}

function placeholderMisplaced(
  { credential }: Sign,
  { words }: OutboundPlace,
  policy: CompiledPolicy,
  isTalk: boolean,
): Refusal {
  return new Refusal(
    'secret.placeholder-misplaced',
    `the placeholder of the credential ${credential} is in ${words} of this request, and does not belong to this host`,
    {
      rule: isTalk ? 'secrets.conversations' : 'secrets.misplaced',
      hint: `A placeholder is good for nothing but the hosts of its credential: send the request without it. If ${credential} is meant for this host, the operator adds the host to the hosts of the credential; one of a preset has fixed hosts, and a credential of another name is made for this one.${afterwards(policy)}`,
    },
  );
}

function valueOutbound({ credential }: Sign, { words }: OutboundPlace, policy: CompiledPolicy): Refusal {
  return new Refusal(
    'secret.value-outbound',
    `the real value of the credential ${credential} is in ${words} of this request; a sandbox may never send it, to any host`,
    {
      rule: 'secrets.misplaced',
      hint: `Send the request without it: the gateway adds it where it belongs. The operator should find out how the value got into the sandbox, and replace the credential.${afterwards(policy)}`,
    },
  );
}

function afterwards({ secrets }: CompiledPolicy): string {
  return secrets.misplaced === 'revoke' ? ' A sandbox that sends it is unregistered.' : '';
}
