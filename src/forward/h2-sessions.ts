// HTTP/2 sessions to upstreams, one per sandbox and origin, used by HTTP/2 clients. A session that says goodbye takes
// no new streams; one that idles is closed. None outlives its last stream and its time, whatever node:http2 thinks of it.
import type { ClientHttp2Session } from 'node:http2';
import { http2 } from '../kit/http2-module.ts';
import type { Perishable, Sweeper } from '../kit/sweeper.ts';
import type { Dialled, Origin } from './dial.ts';
import type { Kept, KeptUpstreams } from './kept-upstreams.ts';

const idleMs = 60_000;
/** To take leave in good order. */
const farewellMs = 2_000;

export class H2Upstream implements Perishable, Kept {
  deadlineMs: number;
  readonly session: ClientHttp2Session;
  readonly address: string;
  readonly sandboxId: string;
  readonly #sweeper: Sweeper;
  readonly #kept: KeptUpstreams;
  #streams = 0;
  #isRetired = false;

  constructor(
    sandboxId: string,
    session: ClientHttp2Session,
    address: string,
    { sweeper, kept }: { readonly sweeper: Sweeper; readonly kept: KeptUpstreams },
  ) {
    this.sandboxId = sandboxId;
    this.session = session;
    this.address = address;
    this.#sweeper = sweeper;
    this.#kept = kept;
    this.deadlineMs = sweeper.nowMs + idleMs;
    sweeper.join(this);
  }

  streamOpened(): void {
    this.#streams++;
    this.#kept.delete(this);
    this.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Whoever used it needs it no more. */
  streamClosed(): void {
    if (--this.#streams > 0) return;
    this.deadlineMs = this.#sweeper.nowMs + (this.#isRetired ? farewellMs : idleMs);
    if (!this.session.destroyed) this.#kept.add(this);
  }

  letGo(): void {
    this.retire();
  }

  gone(): void {
    this.#kept.delete(this);
    this.#sweeper.leave(this);
  }

  /** Takes no new streams; is closed when it has no more. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.session.close();
    if (this.#streams === 0) this.deadlineMs = this.#sweeper.nowMs + farewellMs;
  }

  expire(): void {
    if (this.#isRetired) this.session.destroy();
    else this.retire();
  }
}

export class H2Sessions {
  readonly #live = new Map<string, H2Upstream>();
  readonly #sweeper: Sweeper;
  readonly #kept: KeptUpstreams;

  constructor(sweeper: Sweeper, kept: KeptUpstreams) {
    this.#sweeper = sweeper;
    this.#kept = kept;
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
    const parts = { sweeper: this.#sweeper, kept: this.#kept };
    const upstream = new H2Upstream(key.slice(0, key.indexOf(' ')), session, dialled.address, parts);
    this.#live.set(key, upstream);
    const forget = (): void => {
      if (this.#live.get(key) === upstream) this.#live.delete(key);
    };
    session.on('goaway', () => {
      forget();
      upstream.retire();
    });
    session.on('close', () => {
      forget();
      upstream.gone();
    });
    session.on('error', () => session.destroy());
    return upstream;
  }

  drop(sandboxId: string | null): void {
    for (const [key, upstream] of this.#live) {
      if (sandboxId !== null && !key.startsWith(`${sandboxId} `)) continue;
      this.#live.delete(key);
      if (sandboxId === null) upstream.retire();
      else upstream.session.destroy();
    }
  }
}
