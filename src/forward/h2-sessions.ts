// HTTP/2 sessions to upstreams, one per sandbox and origin, used by HTTP/2 clients. A session that says goodbye takes
// no new streams; one that idles is closed.
import type { ClientHttp2Session } from 'node:http2';
import { http2 } from '../kit/http2-module.ts';
import type { Perishable, Sweeper } from '../kit/sweeper.ts';
import type { Dialled, Origin } from './dial.ts';

const idleMs = 60_000;

export class H2Upstream implements Perishable {
  deadlineMs: number;
  readonly session: ClientHttp2Session;
  readonly address: string;
  readonly #sweeper: Sweeper;
  #streams = 0;

  constructor(session: ClientHttp2Session, address: string, sweeper: Sweeper) {
    this.session = session;
    this.address = address;
    this.#sweeper = sweeper;
    this.deadlineMs = sweeper.nowMs + idleMs;
    sweeper.join(this);
  }

  streamOpened(): void {
    this.#streams++;
    this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  streamClosed(): void {
    if (--this.#streams === 0) this.deadlineMs = this.#sweeper.nowMs + idleMs;
  }

  expire(): void {
    this.session.close();
  }
}

export class H2Sessions {
  readonly #live = new Map<string, H2Upstream>();
  readonly #sweeper: Sweeper;

  constructor(sweeper: Sweeper) {
    this.#sweeper = sweeper;
  }

  get(key: string): H2Upstream | null {
    const upstream = this.#live.get(key);
    return upstream === undefined || upstream.session.closed || upstream.session.destroyed ? null : upstream;
  }

  open(key: string, origin: Origin, dialled: Dialled): H2Upstream {
    const session = http2().connect(`https://${origin.host}:${origin.port}`, {
      createConnection: () => dialled.socket,
      settings: { enablePush: false, initialWindowSize: 1 << 20 },
    });
    const upstream = new H2Upstream(session, dialled.address, this.#sweeper);
    this.#live.set(key, upstream);
    const forget = (): void => {
      if (this.#live.get(key) === upstream) this.#live.delete(key);
      this.#sweeper.leave(upstream);
    };
    session.on('goaway', forget);
    session.on('close', forget);
    session.on('error', () => session.destroy());
    return upstream;
  }

  drop(sandboxId: string | null): void {
    for (const [key, upstream] of this.#live) {
      if (sandboxId !== null && !key.startsWith(`${sandboxId} `)) continue;
      this.#live.delete(key);
      if (sandboxId === null) upstream.session.close();
      else upstream.session.destroy();
    }
  }
}
