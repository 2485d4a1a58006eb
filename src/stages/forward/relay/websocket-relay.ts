// A WebSocket that its upstream has agreed to: frames both ways until one side ends. Where a frame cannot be read, whichever
// side sent it, the upstream is told so (RFC 6455 section 7.1.7) and may still answer what came before. Judges no frame.

import { randomBytes } from 'node:crypto';
import { enrich } from '../../../path/enrich.ts';
import type { BodyWriter } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { Forwarded } from '../../../path/flow.ts';
import { closeFrame, FrameReader, UnreadableFrame } from '../../../protocols/websocket/websocket-frames.ts';
import type { ConnectionOwner, H1Upstream } from '../dial/upstream-pool.ts';
import { deadlineAfterPause, type RelaySettings, type Wrapped } from './relay-settings.ts';
import { stoodStill } from './upstream-faults.ts';

/** How long an upstream may take to answer the end. */
const closeWaitMs = 2_000;

export class WebSocketRelay implements BodyWriter, ConnectionOwner {
  onDrain: (() => void) | null = null;
  readonly #upstream: H1Upstream;
  readonly #flow: Wrapped;
  readonly #settings: RelaySettings;
  readonly #resolve: (flow: Forwarded) => void;
  readonly #reject: (error: Error) => void;
  /** What the upstream has been sent: a Close must not come inside a frame. */
  readonly #sent = new FrameReader('client', true, {});
  #writer: BodyWriter | null = null;
  /** It ends with this as soon as the upstream has said its last. */
  #fault: Error | null = null;
  #settled = false;

  constructor(
    upstream: H1Upstream,
    flow: Wrapped,
    settings: RelaySettings,
    resolve: (flow: Forwarded) => void,
    reject: (error: Error) => void,
  ) {
    this.#upstream = upstream;
    this.#flow = flow;
    this.#settings = settings;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** `early`: what came behind the head of the answer. */
  start(early: Buffer): void {
    const { wrapped: exchange } = this.#flow;
    this.#upstream.owner = this;
    this.#touch();
    exchange.onAbandoned = () => this.#abandon();
    const writer = exchange.goRaw(this);
    writer.onDrain = () => this.#upstream.socket.resume();
    this.#writer = writer;
    if (early.length > 0) this.onUpstreamData(early);
  }

  // From the client.

  write(chunk: Buffer): boolean {
    if (this.#settled || this.#fault !== null) return true;
    this.#touch();
    this.#sent.feed(chunk);
    return this.#upstream.socket.write(chunk);
  }

  flush(): void {}

  end(_trailers: HeaderList | null): void {
    if (!this.#settled && this.#fault === null) this.#upstream.socket.end();
  }

  fail(reason: Error): void {
    if (this.#settled || this.#fault !== null) return;
    if (!(reason.cause instanceof UnreadableFrame) || !this.#sent.isBetweenFrames) {
      this.#breakOff(reason);
      return;
    }
    this.#fault = reason;
    const { socket } = this.#upstream;
    socket.write(closeFrame(reason.cause.closeCode, '', randomBytes(4)));
    socket.resume();
    this.#upstream.deadlineMs = this.#settings.sweeper.deadlineIn(closeWaitMs);
  }

  // From the upstream.

  onUpstreamData(chunk: Buffer): void {
    this.#touch();
    if (!this.#writer!.write(chunk)) this.#upstream.socket.pause();
  }

  onUpstreamDrain(): void {
    this.onDrain?.();
  }

  /** Frames of the client are let through to their end. */
  onUpstreamEnd(): void {
    if (this.#fault !== null) this.#breakOff(this.#fault);
  }

  onUpstreamClosed(): void {
    if (this.#fault !== null) this.#breakOff(this.#fault);
    else if (!this.#settled) {
      this.#settled = true;
      this.#writer!.end(null);
      this.#succeed();
    }
  }

  onUpstreamExpired(): void {
    const { socket } = this.#upstream;
    const later = deadlineAfterPause(this.#flow.wrapped, this.#settings, true);
    if (this.#fault !== null) this.#breakOff(this.#fault);
    else if (later !== null) this.#upstream.deadlineMs = later;
    // It is the client that takes nothing, and its door keeps that time.
    else if (socket.isPaused()) this.#touch();
    else this.#breakOff(stoodStill(this.#flow, true, true));
  }

  #abandon(): void {
    if (this.#settled) return;
    if (this.#fault !== null) {
      this.#breakOff(this.#fault);
      return;
    }
    this.#settled = true;
    this.#upstream.owner = null;
    this.#upstream.socket.destroy();
    this.#succeed();
  }

  #succeed(): void {
    this.#resolve(enrich(this.#flow, { status: 101, upstreamAddress: this.#upstream.address }));
  }

  #breakOff(reason: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#upstream.owner = null;
    this.#upstream.socket.destroy();
    this.#writer?.fail(reason);
    this.#reject(reason);
  }

  #touch(): void {
    if (this.#fault !== null) return;
    const { idleTimeoutMs, sweeper } = this.#settings;
    this.#upstream.deadlineMs = sweeper.deadlineIn(idleTimeoutMs);
  }
}
