// HTTP/2 sessions to upstreams, one per sandbox and origin, used by HTTP/2 clients. A session that says goodbye takes
// no new streams; one that idles is closed, and one that floods. None outlives its last stream and its time, whatever
// node:http2 thinks of it.
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { H2Flood, piecesIn } from '../../../kit/floods/h2-flood.ts';
import type { Perishable, Sweeper } from '../../../kit/sweeper.ts';
import { http2 } from '../../../protocols/http/http2-module.ts';
import type { Dialled, Origin } from './dial.ts';
import type { KeptUpstream, KeptUpstreams } from './kept-upstreams.ts';

const idleMs = 60_000;
/** To take leave in good order. */
const farewellMs = 2_000;
/** What may come of an answer that nobody reads. Less would slow a clone from far away: a round trip brings no more than this. */
const streamWindowBytes = 1024 * 1024;
/** An upstream answers what it is asked, and has less to say for itself than a client. */
const wasteBurstBytes = 128 * 1024;
/** A frame has a head of nine bytes; one with a few hundred bytes of content pays for it. */
const frameHeadBytes = 9;
const contentPerHeadByte = 64;

export class H2Upstream implements Perishable, KeptUpstream {
  /** It looks at itself whenever the sweeper comes by. */
  readonly deadlineMs = 0;
  /** In words what it was closed for; null: it is not. */
  tooMuch: string | null = null;
  readonly session: ClientHttp2Session;
  readonly address: string;
  readonly sandboxId: string;
  readonly #sweeper: Sweeper;
  readonly #kept: KeptUpstreams;
  readonly #socket: Socket;
  readonly #flood: H2Flood;
  readonly #open = new Set<ClientHttp2Stream>();
  #usefulBytes = 0;
  #streams = 0;
  #isRetired = false;
  #endsMs: number;

  constructor(
    sandboxId: string,
    session: ClientHttp2Session,
    { address, socket }: Pick<Dialled, 'address' | 'socket'>,
    { sweeper, kept }: { readonly sweeper: Sweeper; readonly kept: KeptUpstreams },
  ) {
    this.sandboxId = sandboxId;
    this.session = session;
    this.address = address;
    this.#sweeper = sweeper;
    this.#kept = kept;
    this.#socket = socket;
    this.#flood = new H2Flood(sweeper.nowMs, wasteBurstBytes);
    this.#endsMs = sweeper.nowMs + idleMs;
    sweeper.join(this);
    // Whoever it was dialled for may be gone: then no stream is ever opened on it.
    kept.add(this);
  }

  streamOpened(stream: ClientHttp2Stream): void {
    const sweeper = this.#sweeper;
    this.#streams++;
    this.#open.add(stream);
    stream.once('close', () => {
      this.#open.delete(stream);
      // What had come of an answer before the upstream knew that nobody reads it.
      if (!stream.readableEnded) {
        this.#usefulBytes += this.#flood.cutBytes(stream.readableLength, sweeper.nowMs);
      }
    });
    this.#kept.delete(this);
    this.#endsMs = Number.POSITIVE_INFINITY;
  }

  countContent(bytes: number): void {
    this.#usefulBytes += bytes + Math.min(frameHeadBytes, bytes / contentPerHeadByte);
  }

  countHead(headers: IncomingHttpHeaders): void {
    let bytes = 0;
    for (const name in headers) bytes += name.length + String(headers[name]).length;
    this.#usefulBytes += this.#flood.headBytes(bytes);
  }

  /** Whoever used it needs it no more. */
  streamClosed(): void {
    if (--this.#streams > 0) return;
    this.#endsMs = this.#sweeper.nowMs + (this.#isRetired ? farewellMs : idleMs);
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
    if (this.#streams === 0) this.#endsMs = this.#sweeper.nowMs + farewellMs;
  }

  expire(): void {
    const { nowMs } = this.#sweeper;
    this.tooMuch = this.#lookForFlood(nowMs);
    // Guards: threats.md T56. All that is on the session ends with it, and nobody else's.
    if (this.tooMuch !== null) {
      this.session.destroy(new Error(`the upstream ${this.tooMuch}`), http2().constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return;
    }
    if (nowMs < this.#endsMs) return;
    if (this.#isRetired) this.session.destroy();
    else this.retire();
  }

  #lookForFlood(nowMs: number): string | null {
    let usefulBytes = this.#usefulBytes;
    let unreadPieces = 0;
    for (const stream of this.#open) {
      usefulBytes += stream.readableLength;
      unreadPieces += piecesIn(stream);
    }
    const { bytesRead: wireBytes, bytesWritten: takenBytes } = this.#socket;
    return this.#flood.look({ wireBytes, usefulBytes, takenBytes, unreadPieces }, nowMs);
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

  /** Not `isCurrent`: it was dropped while it was dialled. Whoever waited for it may use it, and nobody after them. */
  open(key: string, origin: Origin, dialled: Dialled, isCurrent = true): H2Upstream {
    const session = http2().connect(`https://${origin.host}:${origin.port}`, {
      createConnection: () => dialled.socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    // Of all streams together: the 64 KiB of the protocol would be given back after every other frame.
    const widen = (): void => session.setLocalWindowSize(streamWindowBytes);
    if (session.connecting) session.once('connect', widen);
    else widen();
    const parts = { sweeper: this.#sweeper, kept: this.#kept };
    const upstream = new H2Upstream(key.slice(0, key.indexOf(' ')), session, dialled, parts);
    if (isCurrent) this.#live.set(key, upstream);
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
