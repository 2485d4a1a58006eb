// The placeholder goes out, the real credential goes in. Builds the request as it will be sent: without hop-by-hop
// and proxy fields, without any auth the sandbox sent to a credentialed host, with the credential that authorize
// chose. The only place that reveals a Secret. Never over plain http, never into a tunnel.
import type { Authorized, Injected } from '../flow/flow.ts';
import { HeaderList } from '../flow/header-list.ts';
import { learn } from '../flow/learn.ts';
import { OutgoingRequest } from '../flow/outgoing-request.ts';
import { Refusal } from '../flow/refusal.ts';
import { reveal, type Secret } from '../flow/secret.ts';
import type { Stage } from '../flow/stage.ts';
import { connectionNames } from '../kit/hop-by-hop.ts';
import type { CompiledPolicy, CredentialSpec, Injection } from '../policy/compiled.ts';
import { type CredentialPlan, type HostPlan, HostPlans, isDropped } from './host-plan.ts';
import { type LfsAccess, toStorage } from './lfs-storage-request.ts';
import { plainWish } from './readable-answer.ts';
import { scrubFor } from './secret-scrub.ts';
import { withoutParameters } from './strip-query.ts';
import { withoutSubprotocolKeys } from './subprotocol-keys.ts';

export interface Secrets {
  /** `flow`: what is to carry it. */
  resolve(name: string, flow: Authorized): Secret | null | Promise<Secret | null>;
}

export class InjectStage implements Stage<Authorized, Injected> {
  readonly name = 'inject';
  readonly #policy: () => CompiledPolicy;
  readonly #secrets: Secrets;
  readonly #lfsTickets: LfsAccess | null;
  readonly #plans = new HostPlans();

  /** `policy` yields the one in force. `lfsTickets` null: no LFS object is served. */
  constructor(policy: () => CompiledPolicy, secrets: Secrets, lfsTickets: LfsAccess | null = null) {
    this.#policy = policy;
    this.#secrets = secrets;
    this.#lfsTickets = lfsTickets;
  }

  /** True for a field, in lower case, in which any credential goes out or its clients send one. */
  readonly carriesCredential = (key: string): boolean =>
    this.#plans.namesOf(this.#policy()).has(key.replaceAll('_', '-'));

  run(flow: Authorized): Injected | Promise<Injected> {
    const { canonical, permission } = flow;
    // Bytes that are not decrypted have no head to write.
    if (permission.tunnel || canonical.kind === 'tunnel' || canonical.kind === 'connect') {
      return learn(flow, { outgoing: new OutgoingRequest('', new HeaderList()), injected: null });
    }
    // Goes to the storage behind the ticket, with the credential from there and no other.
    if (permission.git?.operation === 'lfs-object') return toStorage(flow, this.#lfsTickets);
    const plan = this.#plans.planFor(this.#policy(), canonical.host);
    if (permission.credential === null) return withoutCredential(flow, plan);
    const chosen = plan.credentials.get(permission.credential);
    if (chosen === undefined) throw missing(permission.credential, null);
    const injection = checkedInjection(flow, chosen);
    const secret = this.#secrets.resolve(permission.credential, flow);
    if (secret instanceof Promise) return secret.then((ready) => settle(flow, plan, chosen, injection, ready));
    return settle(flow, plan, chosen, injection, secret);
  }
}

/** Where the credential goes for this request. Authorize has decided all this; a disagreement forwards nothing. */
function checkedInjection(flow: Authorized, { spec, placements }: CredentialPlan): Injection {
  const { canonical, sandbox } = flow;
  if (canonical.scheme !== 'https') throw new Error(`credential ${spec.name} chosen for a plain http request`);
  if (sandbox.credentials !== null && !sandbox.credentials.includes(spec.name)) {
    throw new Error(`credential ${spec.name} chosen for ${sandbox.id}, which is not registered for it`);
  }
  for (const { paths, injection } of placements) {
    if (paths === null || paths.some((pattern) => pattern.covers(canonical.path))) return injection;
  }
  throw new Error(`credential ${spec.name} chosen for a path of ${canonical.host} that it does not belong to`);
}

function settle(
  flow: Authorized,
  plan: HostPlan,
  chosen: CredentialPlan,
  injection: Injection,
  secret: Secret | null,
): Injected {
  const { spec, drop } = chosen;
  if (secret === null) {
    if (spec.anonymous) return withoutCredential(flow, plan);
    throw missing(spec.name, spec);
  }
  const headers = endToEnd(flow, drop, plan.credentialed).append(...plainWish);
  let query = strippedQuery(flow, plan);
  const value = reveal(secret);
  switch (injection.kind) {
    case 'header':
      headers.append(injection.header, headerSafe(spec.name, injection.prefix + value));
      break;
    case 'basic':
      headers.append('Authorization', `Basic ${Buffer.from(`${injection.username}:${value}`).toString('base64')}`);
      break;
    case 'query': {
      const pair = `${encodeURIComponent(injection.parameter)}=${encodeURIComponent(value)}`;
      query = query === null || query === '' ? pair : `${query}&${pair}`;
      break;
    }
  }
  for (const [name, text] of spec.companionDefaults) if (!headers.has(name.toLowerCase())) headers.append(name, text);
  for (const [name, text] of spec.companionForced) headers.append(name, text);
  const outgoing = new OutgoingRequest(targetOf(flow, query), headers, null, scrubFor(secret));
  return learn(flow, { outgoing, injected: spec.name });
}

function withoutCredential(flow: Authorized, plan: HostPlan): Injected {
  const headers = endToEnd(flow, plan.drop, plan.credentialed);
  return learn(flow, {
    outgoing: new OutgoingRequest(targetOf(flow, strippedQuery(flow, plan)), headers),
    injected: null,
  });
}

/** The fields of the request that go on to the upstream, in one pass. */
function endToEnd(flow: Authorized, drop: ReadonlySet<string>, credentialed: boolean): HeaderList {
  const { headers, protocol } = flow.request;
  const { names, keys, values } = headers;
  const named = keys.includes('connection') ? connectionNames(headers.getAll('connection')) : null;
  const out = new HeaderList();
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    let value = values[i]!;
    if (isDropped(drop, key) || named?.has(key)) {
      // gRPC over HTTP/2 needs it; HTTP/2 allows no other value (RFC 9113 8.2.2).
      if (key !== 'te' || protocol !== 'h2' || value.trim().toLowerCase() !== 'trailers') continue;
    }
    if (credentialed && key === 'sec-websocket-protocol') {
      const offers = withoutSubprotocolKeys(value);
      if (offers === null) continue;
      value = offers;
    }
    out.names.push(names[i]!);
    out.keys.push(key);
    out.values.push(value);
  }
  return out;
}

function strippedQuery(flow: Authorized, plan: HostPlan): string | null {
  const { query } = flow.canonical;
  return query === null ? null : withoutParameters(query, plan.stripQuery);
}

function targetOf(flow: Authorized, query: string | null): string {
  return query === null ? flow.canonical.rawPath : `${flow.canonical.rawPath}?${query}`;
}

/** The last look before the wire. Sources refuse control characters; other letters have no place in a header. */
function headerSafe(name: string, value: string): string {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code >= 0x20 && code <= 0x7e) continue;
    throw new Refusal(
      'credential.unreadable',
      `the credential ${name} holds a character that cannot go into a header: the operator of the gateway must replace it`,
      { rule: `credentials.${name}` },
    );
  }
  return value;
}

function missing(name: string, spec: CredentialSpec | null): Refusal {
  const act =
    spec === null
      ? `it is no longer in the configuration: the operator of the gateway must add credentials.${name}`
      : spec.source.kind === 'memory'
        ? `the operator of the gateway must run \`sallyport secret set ${name}\``
        : spec.source.kind === 'github-app'
          ? 'a token of a GitHub App is made for the repository that a request is about, and this one is about none'
          : `the operator of the gateway must give a value to credentials.${name}.source (${spec.source.kind})`;
  return new Refusal('credential.missing', `the credential ${name} is not set: ${act}`, {
    rule: `credentials.${name}`,
  });
}
