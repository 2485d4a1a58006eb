// The stage that reaches the upstream and brings the answer back: picks a connection of this sandbox to this origin,
// or dials one, and streams. HTTP/1.1 clients get an HTTP/1.1 upstream, HTTP/2 clients whatever ALPN agrees on.
import { ClientGone } from '../flow/client-gone.ts';
import type { Forwarded, Injected } from '../flow/flow.ts';
import { learn } from '../flow/learn.ts';
import type { OwnAnswer } from '../flow/outgoing-request.ts';
import type { Stage } from '../flow/stage.ts';
import type { Sweeper } from '../kit/sweeper.ts';
import type { CompiledPolicy } from '../policy/compiled.ts';
import { Dialler, type DialSettings, type Origin } from './dial.ts';
import { relayH1 } from './h1-relay.ts';
import { relayH2 } from './h2-relay.ts';
import { H2Sessions, type H2Upstream } from './h2-sessions.ts';
import { type RelaySettings, StaleConnection } from './relay-settings.ts';
import { originOf } from './request-head.ts';
import { KeepingRoom } from './retry-body.ts';
import { retryUnauthorized } from './retry-unauthorized.ts';
import { scrubAnswer, untilPassedOn } from './scrubbed-answer.ts';
import { relayTunnel } from './tunnel-relay.ts';
import { brokeOff, unnamed, unsafeAnswer } from './upstream-faults.ts';
import { H1Upstream, UpstreamPool } from './upstream-pool.ts';

export interface ForwardStage extends Stage<Injected, Forwarded> {
  /** Closes kept connections: of one sandbox, or (null) all, e.g. after a reload. */
  drop(sandboxId: string | null): void;
}

type Upstream = { readonly h1: H1Upstream } | { readonly h2: H2Upstream };

export function createForwardStage(settings: DialSettings, sweeper: Sweeper): ForwardStage {
  const forwarder = new Forwarder(settings, sweeper);
  return {
    name: 'forward',
    run: (flow) => forwarder.run(flow),
    drop: (sandboxId) => forwarder.drop(sandboxId),
  };
}

class Forwarder {
  readonly #policy: () => CompiledPolicy;
  readonly #sweeper: Sweeper;
  readonly #dialler: Dialler;
  readonly #pool: UpstreamPool;
  readonly #sessions: H2Sessions;
  readonly #keepingRoom = new KeepingRoom();
  #settings: { readonly policy: CompiledPolicy; readonly relay: RelaySettings } | null = null;
  /** One dial at a time for HTTP/2: the streams that come meanwhile share its session. */
  readonly #dialling = new Map<string, Promise<Upstream>>();

  constructor(settings: DialSettings, sweeper: Sweeper) {
    this.#policy = settings.policy;
    this.#sweeper = sweeper;
    this.#dialler = new Dialler(settings);
    this.#pool = new UpstreamPool(sweeper);
    this.#sessions = new H2Sessions(sweeper);
  }

  drop(sandboxId: string | null): void {
    this.#pool.drop(sandboxId);
    this.#sessions.drop(sandboxId);
  }

  run(injected: Injected): Promise<Forwarded> {
    const settings = this.#relaySettings();
    if (injected.canonical.kind === 'tunnel') return relayTunnel(this.#dialler, injected, settings);
    const { answer, renew } = injected.outgoing;
    if (answer !== null) return Promise.resolve(answerOurselves(injected, answer));
    const sent =
      renew === null
        ? this.#send(scrubAnswer(injected), settings)
        : retryUnauthorized(injected, renew, this.#keepingRoom, (flow) => this.#send(flow, settings));
    return untilPassedOn(injected, sent);
  }

  #send(flow: Injected, settings: RelaySettings): Promise<Forwarded> {
    // Kept apart by what was offered: an HTTP/2 client must not inherit a connection that HTTP/1.1 was asked for on.
    const offered = flow.exchange.form === 'wire' ? 'h1' : 'h2';
    const { scheme, host, port } = originOf(flow);
    const key = `${flow.sandbox.id} ${offered} ${scheme}://${host}:${port}`;
    const kept = offered === 'h1' ? this.#idleH1(key) : this.#liveH2(key);
    if (kept === null) return this.#connect(key, flow).then((upstream) => this.#relay(upstream, flow, settings));
    return this.#relay(kept, flow, settings).catch((error: unknown) => this.#onceMore(error, key, flow, settings));
  }

  /** A kept connection turned out to be closed: one more try on a new one, if nothing can have been done twice. */
  #onceMore(error: unknown, key: string, flow: Injected, settings: RelaySettings): Promise<Forwarded> {
    if (!(error instanceof StaleConnection)) throw error;
    if (!isRepeatable(flow)) throw brokeOff(flow, 'closed the connection before it answered', error);
    return this.#connect(key, flow).then((upstream) => this.#relay(upstream, flow, settings));
  }

  #idleH1(key: string): Upstream | null {
    const h1 = this.#pool.take(key);
    return h1 === null ? null : { h1 };
  }

  #liveH2(key: string): Upstream | null {
    const h2 = this.#sessions.get(key);
    return h2 === null ? this.#idleH1(key) : { h2 };
  }

  async #connect(key: string, flow: Injected): Promise<Upstream> {
    const origin = originOf(flow);
    let gone = false;
    flow.exchange.onAbandoned = () => {
      gone = true;
    };
    const dialled = flow.exchange.form === 'wire' ? this.#dialH1(key, origin) : this.#dialShared(key, origin);
    const upstream = await (flow.outgoing.origin === null ? dialled : dialled.catch(unnamed(flow)));
    if (!gone) return upstream;
    if ('h1' in upstream) upstream.h1.socket.destroy();
    throw new ClientGone();
  }

  async #dialH1(key: string, origin: Origin): Promise<Upstream> {
    return { h1: new H1Upstream(key, await this.#dialler.dial(origin, ['http/1.1']), this.#sweeper) };
  }

  async #dialShared(key: string, origin: Origin): Promise<Upstream> {
    const underway = this.#dialling.get(key);
    if (underway !== undefined) {
      const upstream = await underway;
      // Where the upstream turns out to speak HTTP/1.1 a connection carries one request: everyone dials for themselves.
      return 'h2' in upstream ? upstream : this.#dialH1(key, origin);
    }
    const dialling = this.#dialler.dial(origin, ['h2', 'http/1.1']).then((dialled): Upstream => {
      if (dialled.protocol === 'h2') return { h2: this.#sessions.open(key, origin, dialled) };
      return { h1: new H1Upstream(key, dialled, this.#sweeper) };
    });
    this.#dialling.set(key, dialling);
    try {
      return await dialling;
    } finally {
      this.#dialling.delete(key);
    }
  }

  #relay(upstream: Upstream, flow: Injected, settings: RelaySettings): Promise<Forwarded> {
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
      this.#settings = { policy, relay: { sweeper: this.#sweeper, headBytes, headersTimeoutMs, idleTimeoutMs } };
    }
    return this.#settings.relay;
  }
}

/** Nobody else is asked. */
function answerOurselves(flow: Injected, { status, headers, body }: OwnAnswer): Forwarded {
  // An answer to HEAD has no body (RFC 9110 9.3.2).
  flow.exchange.answer(status, headers, flow.canonical.method === 'HEAD' ? Buffer.alloc(0) : body);
  return learn(flow, { status, upstreamAddress: null });
}

function isGrpc(flow: Injected): boolean {
  return (
    flow.exchange.form === 'payload' && (flow.outgoing.headers.get('content-type') ?? '').startsWith('application/grpc')
  );
}

function isRepeatable(flow: Injected): boolean {
  const { method } = flow.canonical;
  return (
    flow.exchange.requestFraming.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
  );
}
