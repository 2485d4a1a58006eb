// The stage that reaches the upstream and brings the answer back: picks a connection of this sandbox to this origin,
// or dials one, and streams. HTTP/1.1 clients get an HTTP/1.1 upstream, HTTP/2 clients whatever ALPN agrees on.

import type { Sweeper } from '../../kit/sweeper.ts';
import { enrich } from '../../path/enrich.ts';
import { ClientGone } from '../../path/exchange/client-gone.ts';
import type { ClientIdentity } from '../../path/exchange/client-identity.ts';
import type { OwnAnswer } from '../../path/exchange/outgoing-request.ts';
import { addWrapper, wrappedExchange } from '../../path/exchange/wrappers.ts';
import type { Forwarded, Injected } from '../../path/flow.ts';
import { passesUnread } from '../../path/passes-unread.ts';
import type { Stage } from '../../path/stage.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { scrubAnswer, untilPassedOn } from './answer/scrubbed-answer.ts';
import { type Dialled, Dialler, type DialSettings, type Origin } from './dial/dial.ts';
import { H2Sessions, type H2Upstream } from './dial/h2-sessions.ts';
import { KeptUpstreams } from './dial/kept-upstreams.ts';
import { UpstreamCircuits } from './dial/upstream-circuits.ts';
import { H1Upstream, UpstreamPool } from './dial/upstream-pool.ts';
import { relayH1 } from './relay/h1-relay.ts';
import { relayH2 } from './relay/h2-relay.ts';
import { type RelaySettings, StaleConnection, type Wrapped } from './relay/relay-settings.ts';
import { originOf } from './relay/request-head.ts';
import { KeepingRoom } from './relay/retry-body.ts';
import { RetryExchange } from './relay/retry-exchange.ts';
import { retryUnauthorized } from './relay/retry-unauthorized.ts';
import { relayTunnel } from './relay/tunnel-relay.ts';
import { brokeOff, unnamed, unsafeAnswer } from './relay/upstream-faults.ts';

export interface ForwardStage extends Stage<Injected, Forwarded> {
  /** Closes kept connections: of one sandbox, or (null) all, e.g. after a reload. */
  drop(sandboxId: string | null): void;
}

export interface WatchedForwardStage extends ForwardStage {
  /** How many upstreams are left alone at the moment: for everybody, or for one sandbox. */
  readonly openCircuits: number;
}

/** Who answers in place of an upstream where the door is asked about itself. */
type AnswerInside = (flow: Injected) => Promise<OwnAnswer>;

type Upstream = { readonly h1: H1Upstream } | { readonly h2: H2Upstream };

/** Without `answerInside` nothing is answered there: it fails, and is never forwarded. */
export function createForwardStage(
  settings: DialSettings,
  sweeper: Sweeper,
  answerInside: AnswerInside | null = null,
): WatchedForwardStage {
  const forwarder = new Forwarder(settings, sweeper, answerInside);
  return {
    name: 'forward',
    run: (flow) => forwarder.run(flow),
    drop: (sandboxId) => forwarder.drop(sandboxId),
    get openCircuits() {
      return forwarder.circuits.openCount;
    },
  };
}

class Forwarder {
  readonly circuits: UpstreamCircuits;
  readonly #policy: () => CompiledPolicy;
  readonly #sweeper: Sweeper;
  readonly #dialler: Dialler;
  readonly #pool: UpstreamPool;
  readonly #sessions: H2Sessions;
  readonly #answerInside: AnswerInside | null;
  readonly #keepingRoom = new KeepingRoom();
  #settings: { readonly policy: CompiledPolicy; readonly relay: RelaySettings } | null = null;
  /** One dial at a time for HTTP/2: the streams that come meanwhile share its session. */
  readonly #dialling = new Map<string, Promise<Upstream>>();

  constructor(settings: DialSettings, sweeper: Sweeper, answerInside: AnswerInside | null) {
    this.#answerInside = answerInside;
    this.#policy = settings.policy;
    this.#sweeper = sweeper;
    this.#dialler = new Dialler(settings);
    const kept = new KeptUpstreams(settings.keptUpstreams);
    this.#pool = new UpstreamPool(sweeper, kept);
    this.#sessions = new H2Sessions(sweeper, kept);
    this.circuits = new UpstreamCircuits(settings.onCircuit ?? (() => {}));
  }

  drop(sandboxId: string | null): void {
    this.#pool.drop(sandboxId);
    // Guards: threats.md T101. What is being dialled is for those who wait for it, and nobody after them.
    for (const key of this.#dialling.keys()) {
      if (sandboxId === null || key.startsWith(`${sandboxId} `)) this.#dialling.delete(key);
    }
    this.#sessions.drop(sandboxId);
    this.circuits.drop(sandboxId);
  }

  run(injected: Injected): Promise<Forwarded> {
    if (injected.permission.inside === true) return this.#inside(injected);
    const settings = this.#relaySettings();
    if (passesUnread(injected.canonical.kind)) {
      return relayTunnel(() => this.#openUnread(injected), wrappedUp(injected), settings);
    }
    const { answer, renew } = injected.outgoing;
    if (answer !== null) return Promise.resolve(answerOurselves(injected, answer));
    // Whichever try is answered, and whatever is made of the answer: its place is nearest to the client (wrappers.ts).
    addWrapper(injected, 'scrubbed', (inner) => scrubAnswer(inner, injected));
    const share = renew === null ? null : this.#keepingRoom.shareOf(injected.sandbox.id);
    if (share !== null) addWrapper(injected, 'retried', (inner) => new RetryExchange(inner, share));
    const flow = wrappedUp(injected);
    const { wrapped } = flow;
    const sent =
      renew !== null && wrapped instanceof RetryExchange
        ? retryUnauthorized(flow, wrapped, renew, (again) => this.#send(again, settings))
        : this.#send(flow, settings);
    return untilPassedOn(flow, sent);
  }

  async #inside(flow: Injected): Promise<Forwarded> {
    if (this.#answerInside === null) throw new Error('nobody answers for the door itself here');
    const answer = await this.#answerInside(flow);
    const search = flow.outgoing.scrub?.openBody();
    // It repeats what the sandbox has sent before, and what was no credential then may be one now.
    const body = search === undefined ? answer.body : Buffer.concat([search.feed(answer.body), search.end()]);
    return answerOurselves(flow, { ...answer, body });
  }

  #send(flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
    if (!this.#isTrial(flow)) return this.#sendOn(flow, settings);
    return this.#sendOn(flow, settings).finally(() => this.circuits.over(flow));
  }

  #isTrial(flow: Injected): boolean {
    try {
      return this.circuits.admit(flow);
    } catch (error) {
      if (flow.outgoing.origin !== null) unnamed(flow)(error);
      throw error;
    }
  }

  #sendOn(flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
    // Kept apart by what was offered: an HTTP/2 client must not inherit a connection that HTTP/1.1 was asked for on.
    const offered = flow.wrapped.form === 'wire' ? 'h1' : 'h2';
    const { scheme, host, port } = originOf(flow);
    const identity = identityFor(flow);
    // Guards: threats.md T113. A connection is whom it was opened as: who may not be that gets another.
    const as = identity === null ? '' : ` as ${identity.id}`;
    const key = `${flow.sandbox.id} ${offered} ${scheme}://${host}:${port}${as}`;
    const kept = offered === 'h1' ? this.#idleH1(key) : this.#liveH2(key);
    if (kept === null) return this.#sendAnew(key, flow, settings);
    return this.#relay(kept, flow, settings).catch((error: unknown) => this.#onceMore(error, key, flow, settings));
  }

  /** A kept connection turned out to be closed: one more try on a new one, if nothing can have been done twice. */
  #onceMore(error: unknown, key: string, flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
    if (!(error instanceof StaleConnection)) throw error;
    if (!isRepeatable(flow)) throw brokeOff(flow, 'closed the connection before it answered', error);
    return this.#sendAnew(key, flow, settings);
  }

  async #sendAnew(key: string, flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
    const upstream = await this.#connect(key, flow);
    try {
      return await this.#relay(upstream, flow, settings);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      // It was new: this one was not closed while it waited, but in the face of the request.
      const reason = brokeOff(flow, 'closed the connection before it answered', error);
      this.circuits.unanswered(flow, reason);
      throw reason;
    }
  }

  #openUnread(flow: Injected): ReturnType<Dialler['open']> {
    const { host, port, kind } = flow.canonical;
    // Nobody else's upstream: whether it is there is for the person who started it to know, at once.
    if (kind === 'host-port') return this.#dialler.openHostPort(port);
    return this.circuits.openTunnel(flow, () =>
      this.#dialler.open(host, port, flow.sandbox.id, undefined, kind === 'tcp'),
    );
  }

  #idleH1(key: string): Upstream | null {
    const h1 = this.#pool.take(key);
    return h1 === null ? null : { h1 };
  }

  #liveH2(key: string): Upstream | null {
    const h2 = this.#sessions.get(key);
    return h2 === null ? this.#idleH1(key) : { h2 };
  }

  async #connect(key: string, flow: Wrapped): Promise<Upstream> {
    const origin = originOf(flow);
    let gone = false;
    flow.wrapped.onAbandoned = () => {
      gone = true;
    };
    const dialled =
      flow.wrapped.form === 'wire' ? this.#dialH1(key, origin, flow) : this.#dialShared(key, origin, flow);
    const upstream = await (flow.outgoing.origin === null ? dialled : dialled.catch(unnamed(flow)));
    if (!gone) return upstream;
    if ('h1' in upstream) upstream.h1.socket.destroy();
    throw new ClientGone();
  }

  async #dialH1(key: string, origin: Origin, flow: Injected): Promise<Upstream> {
    const { era } = this.#pool;
    const dialled = await this.circuits.dial(flow, () =>
      this.#dialler.dial(origin, ['http/1.1'], flow.sandbox.id, identityFor(flow)),
    );
    return { h1: new H1Upstream(key, dialled, this.#sweeper, era) };
  }

  async #dialShared(key: string, origin: Origin, flow: Injected): Promise<Upstream> {
    const underway = this.#dialling.get(key);
    if (underway !== undefined) {
      const upstream = await this.circuits.join(flow, underway);
      // Where the upstream turns out to speak HTTP/1.1 a connection carries one request: everyone dials for themselves.
      return 'h2' in upstream ? upstream : this.#dialH1(key, origin, flow);
    }
    const dial = (): Promise<Dialled> =>
      this.#dialler.dial(origin, ['h2', 'http/1.1'], flow.sandbox.id, identityFor(flow));
    const { era } = this.#pool;
    const dialling = this.circuits.dial(flow, dial).then((dialled): Upstream => {
      const isCurrent = this.#dialling.get(key) === dialling;
      if (dialled.protocol === 'h2') return { h2: this.#sessions.open(key, origin, dialled, isCurrent) };
      return { h1: new H1Upstream(key, dialled, this.#sweeper, era) };
    });
    this.#dialling.set(key, dialling);
    try {
      return await dialling;
    } finally {
      if (this.#dialling.get(key) === dialling) this.#dialling.delete(key);
    }
  }

  #relay(upstream: Upstream, flow: Wrapped, settings: RelaySettings): Promise<Forwarded> {
    if ('h2' in upstream) return relayH2(upstream.h2, flow, settings);
    if (isGrpc(flow)) {
      upstream.h1.socket.destroy();
      throw unsafeAnswer(flow, 'speaks only HTTP/1.1, and gRPC needs HTTP/2');
    }
    return relayH1(upstream.h1, flow, this.#pool, settings);
  }

  #relaySettings(): RelaySettings {
    const policy = this.#policy();
    if (this.#settings?.policy !== policy) {
      const { headBytes, headersTimeoutMs, idleTimeoutMs } = policy.limits;
      this.#settings = {
        policy,
        relay: { sweeper: this.#sweeper, headBytes, headersTimeoutMs, idleTimeoutMs, watch: this.circuits },
      };
    }
    return this.#settings.relay;
  }
}

/** From here on nothing is put around it any more. */
function wrappedUp(flow: Injected): Wrapped {
  return enrich(flow, { wrapped: wrappedExchange(flow) });
}

/** For the host of its credential: what goes elsewhere (the storage behind LFS) is sent by nobody. */
function identityFor({ identity, outgoing }: Injected): ClientIdentity | null {
  return outgoing.origin === null ? (identity ?? null) : null;
}

/** Nobody else is asked. */
function answerOurselves(flow: Injected, { status, headers, body }: OwnAnswer): Forwarded {
  // An answer to HEAD has no body (RFC 9110 9.3.2).
  flow.exchange.answer(status, headers, flow.canonical.method === 'HEAD' ? Buffer.alloc(0) : body);
  return enrich(flow, { status, upstreamAddress: null });
}

function isGrpc(flow: Wrapped): boolean {
  return (
    flow.wrapped.form === 'payload' && (flow.outgoing.headers.get('content-type') ?? '').startsWith('application/grpc')
  );
}

function isRepeatable(flow: Wrapped): boolean {
  const { method } = flow.canonical;
  return flow.wrapped.requestFraming.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}
