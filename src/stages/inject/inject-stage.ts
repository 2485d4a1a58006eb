// The placeholder goes out, the real credential goes in. Builds the request as it will be sent, with the credential that
// authorize chose and no other auth. The only place that reveals a Secret. Never over plain http, never into a tunnel, and
// nothing that the sandbox sends may carry a credential, real or placeholder, where it does not belong.

import { enrich } from '../../path/enrich.ts';
import type { AnswerScrub } from '../../path/exchange/answer-scrub.ts';
import { BodyPull } from '../../path/exchange/body-pull.ts';
import type { Exchange } from '../../path/exchange/exchange.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import { OutgoingRequest, type OwnAnswer } from '../../path/exchange/outgoing-request.ts';
import { addWrapper, type Wrap, wrappedExchange } from '../../path/exchange/wrappers.ts';
import type { Authorized, Injected } from '../../path/flow.ts';
import { passesUnread } from '../../path/passes-unread.ts';
import { reveal, type Secret } from '../../path/secret.ts';
import type { Stage } from '../../path/stage.ts';
import type {
  ClientCertificate,
  CompiledPolicy,
  CredentialSpec,
  Injection,
  TokenEndpoint,
} from '../../policy/compiled.ts';
import { ClientIdentities } from './client-identities.ts';
import { ExplainedLogin } from './explain-login.ts';
import { type CredentialPlan, type HostPlan, HostPlans } from './host-plan.ts';
import { checkedInjection, headerSafe, missing } from './injection-checks.ts';
import { type LfsAccess, toStorage } from './lfs/lfs-storage-request.ts';
import { outgoingFields, outgoingQuery, outgoingTarget, withFields, withMember } from './outgoing-head.ts';
import { type HeldInjection, holdBody, readsBody, tryBody } from './places/held-body.ts';
import { asSegment, hasPlace, pathPlace } from './places/path-place.ts';
import { noteWritten } from './places/written-form.ts';

export interface Secrets {
  /** `flow`: what is to carry it. */
  resolve(name: string, flow: Authorized): Secret | null | Promise<Secret | null>;
  /** The upstream took `secret` for no good: another one, or null. Absent: there is never another. */
  renewed?(name: string, secret: Secret, flow: Authorized): Promise<Secret | null>;
}

/** Keeps credentials, real and placeholder, from leaving for where they do not belong. */
export interface OutboundPort {
  /** Throws a Refusal. */
  checkHead(flow: Authorized): void;
  guardBody(flow: Authorized, exchange: Exchange): Exchange;
}

export interface TokenPort {
  answer(flow: Authorized, spec: CredentialSpec, endpoint: TokenEndpoint): OwnAnswer | Promise<OwnAnswer>;
}

/** A request signed anew: AWS. */
export type SignPort = (
  flow: Authorized,
  target: string,
  headers: HeaderList,
  secret: Secret,
) => Promise<SignedRequest>;

export interface SignedRequest {
  readonly target: string;
  readonly headers: HeaderList;
  /** What its body goes through. Null: it goes on as it comes. */
  readonly wrap: Wrap | null;
  /** False: the client did not sign it, so it goes out unsigned. */
  readonly isSigned: boolean;
}

export interface InjectParts {
  /** Absent: no LFS object is served. */
  readonly lfsTickets?: LfsAccess;
  /** For one answer; null: it is not searched. */
  readonly openScrub?: () => AnswerScrub | null;
  readonly outbound?: OutboundPort;
  /** The same, without consequences for the sandbox. */
  readonly rehearsal?: OutboundPort;
  readonly tokens?: TokenPort;
  readonly sign?: SignPort;
  /** Told of every form of a credential that goes out and that answers are to be searched for. */
  readonly note?: (secret: Secret) => void;
}

export class InjectStage implements Stage<Authorized, Injected> {
  readonly name = 'inject';
  readonly #policy: () => CompiledPolicy;
  readonly #secrets: Secrets;
  readonly #parts: InjectParts;
  readonly #plans = new HostPlans();
  readonly #identities = new ClientIdentities();

  /** `policy` yields the one in force. */
  constructor(policy: () => CompiledPolicy, secrets: Secrets, parts: InjectParts = {}) {
    this.#policy = policy;
    this.#secrets = secrets;
    this.#parts = parts;
  }

  /** Whether what leaves is searched. */
  get isGuarded(): boolean {
    return this.#parts.outbound !== undefined;
  }

  /** True for a field, in lower case, in which any credential goes out or its clients send one. */
  readonly carriesCredential = (key: string): boolean =>
    this.#plans.namesOf(this.#policy()).has(key.replaceAll('_', '-'));

  run(arrived: Authorized): Injected | Promise<Injected> {
    const { canonical, permission } = arrived;
    // Bytes that are not decrypted have no head to write, but a name that they go to.
    if (permission.tunnel || passesUnread(canonical.kind) || canonical.kind === 'connect') {
      this.#parts.outbound?.checkHead(arrived);
      return enrich(arrived, { outgoing: new OutgoingRequest('', new HeaderList()), injected: null });
    }
    const flow = this.#guarded(arrived);
    // Goes to the storage behind the ticket, with the credential from there and no other.
    if (permission.git?.operation === 'lfs-object') {
      const { lfsTickets = null, openScrub = () => null } = this.#parts;
      return toStorage(flow, lfsTickets, this.#policy().secrets.scrub ? openScrub : null);
    }
    const plan = this.#plans.planFor(this.#policy(), canonical.host);
    const answered = this.#policy().tokenEndpoints.at(canonical.host, canonical.path);
    if (answered !== undefined) return this.#answerTokens(flow, answered.spec, answered.endpoint);
    if (permission.credential === null) return this.#withoutCredential(flow, plan);
    const chosen = plan.credentials.get(permission.credential);
    if (chosen === undefined) throw missing(permission.credential, null);
    const injection = checkedInjection(flow, chosen);
    const { clientCertificate } = chosen.spec;
    if (clientCertificate !== undefined) return this.#withCertificate(flow, plan, chosen, injection, clientCertificate);
    const secret = this.#secrets.resolve(permission.credential, flow);
    if (secret instanceof Promise) return secret.then((ready) => this.#settle(flow, plan, chosen, injection, ready));
    return this.#settle(flow, plan, chosen, injection, secret);
  }

  /**
   * For `sallyport check`: the name of the credential that would go in, or the Refusal. Nothing is sent, signed or answered,
   * and what is found in the wrong place has no consequence.
   */
  async preview(flow: Authorized): Promise<string | null> {
    const { canonical } = flow;
    const { rehearsal, tokens } = this.#parts;
    rehearsal?.checkHead(flow);
    const unguarded = wrappedExchange(flow);
    const exchange = rehearsal?.guardBody(flow, unguarded) ?? unguarded;
    const answered = this.#policy().tokenEndpoints.at(canonical.host, canonical.path);
    if (answered !== undefined && !passesUnread(canonical.kind)) {
      const guarded: Wrap = (inner) => rehearsal?.guardBody(flow, inner) ?? inner;
      await tokens?.answer({ ...flow, guarded }, answered.spec, answered.endpoint);
      return null;
    }
    const held = this.#heldBy(flow);
    const name = await this.#previewCredential(flow);
    if (held !== null && name !== null) {
      await tryBody(flow, exchange, held.spec, held.injection, this.#policy().secrets.injectedBodyBytes);
      return name;
    }
    // It is searched while it is read.
    if (exchange !== unguarded && canonical.kind === 'http') {
      const body = BodyPull.from(exchange);
      while ((await body.next()) !== null);
    }
    return name;
  }

  async #previewCredential(flow: Authorized): Promise<string | null> {
    const { canonical, permission } = flow;
    if (permission.tunnel || permission.credential === null || permission.git?.operation === 'lfs-object') return null;
    const chosen = this.#plans.planFor(this.#policy(), canonical.host).credentials.get(permission.credential);
    if (chosen === undefined) throw missing(permission.credential, null);
    const placed = checkedInjection(flow, chosen);
    if (placed.kind === 'path' && !hasPlace(flow, chosen.spec, placed)) return null;
    if ((await this.#secrets.resolve(permission.credential, flow)) !== null) return chosen.spec.name;
    if (chosen.spec.anonymous) return null;
    throw missing(chosen.spec.name, chosen.spec);
  }

  /** The credential that would go into the body of this request, or sign it. */
  #heldBy(flow: Authorized): { readonly spec: CredentialSpec; readonly injection: HeldInjection } | null {
    const { canonical, permission } = flow;
    if (permission.tunnel || permission.credential === null || permission.git?.operation === 'lfs-object') return null;
    const chosen = this.#plans.planFor(this.#policy(), canonical.host).credentials.get(permission.credential);
    if (chosen === undefined) return null;
    const found = checkedInjection(flow, chosen);
    return readsBody(found) ? { spec: chosen.spec, injection: found } : null;
  }

  #guarded(flow: Authorized): Authorized {
    const { outbound } = this.#parts;
    if (outbound === undefined) return flow;
    outbound.checkHead(flow);
    return addWrapper(flow, 'guarded', (inner) => outbound.guardBody(flow, inner));
  }

  #openScrub(): AnswerScrub | null {
    return this.#policy().secrets.scrub ? (this.#parts.openScrub?.() ?? null) : null;
  }

  /** Answered here and never forwarded: what the endpoint would answer is what the sandbox must not have. */
  async #answerTokens(flow: Authorized, spec: CredentialSpec, endpoint: TokenEndpoint): Promise<Injected> {
    const { tokens } = this.#parts;
    if (tokens === undefined) throw new Error('no one answers token endpoints here');
    const answer = await tokens.answer(flow, spec, endpoint);
    return enrich(flow, { outgoing: new OutgoingRequest('', new HeaderList(), { answer }), injected: null });
  }

  #settle(
    flow: Authorized,
    plan: HostPlan,
    chosen: CredentialPlan,
    injection: Injection,
    secret: Secret | null,
  ): Injected | Promise<Injected> {
    const { spec } = chosen;
    if (secret === null) {
      if (spec.anonymous) return this.#withoutCredential(flow, plan);
      throw missing(spec.name, spec);
    }
    if (injection.kind === 'sigv4') return this.#sign(flow, plan, chosen, secret);
    if (readsBody(injection)) return this.#hold(flow, plan, chosen, injection, secret);
    if (injection.kind === 'path' && !hasPlace(flow, spec, injection)) return this.#withoutCredential(flow, plan);
    const outgoing = this.#build(flow, plan, chosen, injection, secret);
    return enrich(flow, { outgoing, injected: spec.name });
  }

  #build(
    flow: Authorized,
    plan: HostPlan,
    chosen: CredentialPlan,
    injection: Injection,
    secret: Secret,
  ): OutgoingRequest {
    const { spec } = chosen;
    const { renewed } = this.#secrets;
    const scrub = this.#openScrub();
    let headers = this.#headFor(flow, chosen, scrub);
    let query = outgoingQuery(flow, plan);
    let path = flow.canonical.rawPath;
    const value = reveal(secret);
    const form = (secret.login ? spec.login?.injection : null) ?? injection;
    switch (form.kind) {
      case 'header':
        headers.append(form.header, headerSafe(spec.name, form.prefix + value));
        break;
      case 'basic':
        headers.append('Authorization', `Basic ${Buffer.from(`${form.username}:${value}`).toString('base64')}`);
        break;
      case 'query': {
        const pair = `${encodeURIComponent(form.parameter)}=${encodeURIComponent(value)}`;
        query = query === null || query === '' ? pair : `${query}&${pair}`;
        break;
      }
      case 'path': {
        const place = pathPlace(flow, spec, form);
        const written = asSegment(spec.name, value);
        noteWritten(this.#parts.note, secret, written);
        if (place !== null) path = `${place.before}${written}${place.after}`;
        break;
      }
      default:
        throw new Error(`credential ${spec.name} signs (${form.kind}) or goes into a body, and not into a head`);
    }
    if (secret.login)
      for (const [name, member] of spec.login?.listed ?? []) headers = withMember(headers, name, member);
    headers = withFields(headers, secret.fields);
    const again = async (): Promise<OutgoingRequest | null> => {
      const next = (await renewed?.call(this.#secrets, spec.name, secret, flow)) ?? null;
      return next === null ? null : this.#build(flow, plan, chosen, injection, next);
    };
    const renew = renewed === undefined ? null : again;
    return new OutgoingRequest(query === null ? path : `${path}?${query}`, headers, { scrub, renew });
  }

  /** The upstream is shown a certificate, and gets what goes with it. */
  async #withCertificate(
    flow: Authorized,
    plan: HostPlan,
    chosen: CredentialPlan,
    injection: Injection,
    certificate: ClientCertificate,
  ): Promise<Injected> {
    const { spec } = chosen;
    const key = await this.#secrets.resolve(certificate.keyOf, flow);
    if (key === null && !spec.anonymous) throw missing(certificate.keyOf, { ...spec, name: certificate.keyOf });
    const identity = key === null ? null : this.#identities.of(spec.name, certificate, key);
    if (injection.kind !== 'certificate') {
      const secret = await this.#secrets.resolve(spec.name, flow);
      const settled = await this.#settle(flow, plan, chosen, injection, secret);
      return identity === null ? settled : enrich(settled, { identity });
    }
    const scrub = this.#openScrub();
    const target = outgoingTarget(flow, outgoingQuery(flow, plan));
    const outgoing = new OutgoingRequest(target, this.#headFor(flow, chosen, scrub), { scrub });
    if (identity === null) return enrich(flow, { outgoing, injected: null });
    return enrich(flow, { outgoing, injected: spec.name, identity });
  }

  /** Into the body, or over it: there is no second try with another one, because the body went out with this. */
  async #hold(
    flow: Authorized,
    plan: HostPlan,
    chosen: CredentialPlan,
    injection: HeldInjection,
    secret: Secret,
  ): Promise<Injected> {
    const scrub = this.#openScrub();
    const { injectedBodyBytes } = this.#policy().secrets;
    const target = outgoingTarget(flow, outgoingQuery(flow, plan));
    const head = this.#headFor(flow, chosen, scrub);
    const { note } = this.#parts;
    const headers = await holdBody(flow, chosen.spec, injection, head, secret, { maxBytes: injectedBodyBytes, note });
    return enrich(flow, { outgoing: new OutgoingRequest(target, headers, { scrub }), injected: chosen.spec.name });
  }

  async #sign(flow: Authorized, plan: HostPlan, chosen: CredentialPlan, secret: Secret): Promise<Injected> {
    const { sign } = this.#parts;
    if (sign === undefined) throw new Error('no one signs requests here');
    const scrub = this.#openScrub();
    const target = outgoingTarget(flow, outgoingQuery(flow, plan));
    const signed = await sign(flow, target, this.#headFor(flow, chosen, scrub), secret);
    const outgoing = new OutgoingRequest(signed.target, signed.headers, { scrub });
    if (signed.wrap !== null) addWrapper(flow, 'signed', signed.wrap);
    return enrich(flow, { outgoing, injected: signed.isSigned ? chosen.spec.name : null });
  }

  #headFor(flow: Authorized, { spec, drop }: CredentialPlan, scrub: AnswerScrub | null): HeaderList {
    const headers = outgoingFields(flow, { drop, credentialed: true, readable: isReadable(flow, scrub) });
    for (const [name, text] of spec.companionDefaults) if (!headers.has(name.toLowerCase())) headers.append(name, text);
    for (const [name, text] of spec.companionForced) headers.append(name, text);
    return headers;
  }

  #withoutCredential(flow: Authorized, plan: HostPlan): Injected {
    const scrub = this.#openScrub();
    const { drop, credentialed } = plan;
    if (flow.permission.git !== null) addWrapper(flow, 'explained', (inner) => new ExplainedLogin(inner, flow, plan));
    const headers = outgoingFields(flow, { drop, credentialed, readable: isReadable(flow, scrub) });
    const target = outgoingTarget(flow, outgoingQuery(flow, plan));
    return enrich(flow, { outgoing: new OutgoingRequest(target, headers, { scrub }), injected: null });
  }
}

/** Whether the answer must come in a form that can be read: it is searched, or says what it cost, or comes in frames. */
function isReadable({ meter, canonical }: Authorized, scrub: AnswerScrub | null): boolean {
  return scrub !== null || meter !== undefined || canonical.kind === 'websocket';
}
