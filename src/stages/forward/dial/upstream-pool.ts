// Kept-alive HTTP/1.1 connections to upstreams. Never shared between sandboxes: if one sandbox ever brought a
// connection out of step, no other could be given the wrong answer. // Guards: threats.md T11
import type { Socket } from 'node:net';
import { noteRead } from '../../../kit/process/young-bytes.ts';
import type { Perishable, Sweeper } from '../../../kit/sweeper.ts';
import type { Dialled } from './dial.ts';
import type { KeptUpstream, KeptUpstreams } from './kept-upstreams.ts';

/** Whoever uses a connection at the moment. */
export interface ConnectionOwner {
  onUpstreamData(chunk: Buffer): void;
  onUpstreamDrain(): void;
  /** It will send nothing more. */
  onUpstreamEnd(): void;
  onUpstreamClosed(error: Error | null): void;
  onUpstreamExpired(): void;
}

/** Servers close idle connections unannounced, most after five seconds or more. */
const defaultIdleMs = 4_000;
const maxIdleMs = 60_000;

export class H1Upstream implements Perishable, KeptUpstream {
  deadlineMs = Number.POSITIVE_INFINITY;
  owner: ConnectionOwner | null = null;
  /** It has carried an earlier request: it may have been closed by the server meanwhile. */
  reused = false;
  /** Set while it waits in a pool. */
  onGone: ((connection: H1Upstream) => void) | null = null;
  readonly socket: Socket;
  readonly address: string;
  readonly key: string;
  readonly sandboxId: string;
  /** What `UpstreamPool.era` was when it was dialled. */
  readonly era: number;
  #error: Error | null = null;

  constructor(key: string, dialled: Dialled, sweeper: Sweeper, era = 0) {
    this.key = key;
    this.sandboxId = key.slice(0, key.indexOf(' '));
    this.era = era;
    this.socket = dialled.socket;
    this.address = dialled.address;
    sweeper.join(this);
    this.socket.on('data', (chunk: Buffer) => {
      noteRead(chunk.length);
      // Bytes nobody asked for: the connection is out of step and is not used again.
      if (this.owner === null) this.socket.destroy();
      else this.owner.onUpstreamData(chunk);
    });
    // One that came through the operator's proxy was paused until somebody listens.
    this.socket.resume();
    this.socket.on('drain', () => this.owner?.onUpstreamDrain());
    this.socket.on('end', () => {
      if (this.owner === null) this.socket.destroy();
      else this.owner.onUpstreamEnd();
    });
    this.socket.on('error', (error) => {
      this.#error = error;
    });
    this.socket.on('close', () => {
      sweeper.leave(this);
      const { owner } = this;
      this.owner = null;
      owner?.onUpstreamClosed(this.#error);
      this.onGone?.(this);
    });
  }

  letGo(): void {
    this.socket.destroy();
  }

  expire(): void {
    if (this.owner === null) this.socket.destroy();
    else this.owner.onUpstreamExpired();
  }
}

export class UpstreamPool {
  /** One more whenever all were dropped: what was dialled before is used to its end, and not kept. */
  era = 0;
  readonly #idle = new Map<string, H1Upstream[]>();
  readonly #sweeper: Sweeper;
  readonly #kept: KeptUpstreams;

  constructor(sweeper: Sweeper, kept: KeptUpstreams) {
    this.#sweeper = sweeper;
    this.#kept = kept;
  }

  take(key: string): H1Upstream | null {
    const idle = this.#idle.get(key);
    if (idle === undefined) return null;
    for (;;) {
      const connection = idle.pop();
      if (connection === undefined) {
        this.#idle.delete(key);
        return null;
      }
      if (!connection.socket.destroyed && connection.socket.writable && connection.deadlineMs > this.#sweeper.nowMs) {
        connection.deadlineMs = Number.POSITIVE_INFINITY;
        connection.onGone = null;
        this.#kept.delete(connection);
        return connection;
      }
      connection.socket.destroy();
    }
  }

  /** Takes a connection back after a complete answer. `keepAlive`: the upstream's Keep-Alive field, if any. */
  give(connection: H1Upstream, keepAlive: string | undefined): void {
    connection.owner = null;
    if (connection.era !== this.era) {
      connection.socket.destroy();
      return;
    }
    connection.reused = true;
    connection.deadlineMs = this.#sweeper.nowMs + idleMsOf(keepAlive);
    let idle = this.#idle.get(connection.key);
    if (idle === undefined) {
      idle = [];
      this.#idle.set(connection.key, idle);
    }
    connection.onGone = this.#forget;
    idle.push(connection);
    this.#kept.add(connection);
  }

  /** Connections that wait, over all sandboxes. */
  get size(): number {
    let count = 0;
    for (const idle of this.#idle.values()) count += idle.length;
    return count;
  }

  // A wildcard rule lets a sandbox think up hosts without end: what is closed must not stay listed under their names.
  readonly #forget = (connection: H1Upstream): void => {
    this.#kept.delete(connection);
    const idle = this.#idle.get(connection.key);
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return;
    idle!.splice(at, 1);
    if (idle!.length === 0) this.#idle.delete(connection.key);
  };

  /** Closes idle connections: of one sandbox, or all of them (after a change of the upstream settings). */
  drop(sandboxId: string | null): void {
    if (sandboxId === null) this.era++;
    for (const [key, idle] of this.#idle) {
      if (sandboxId !== null && !key.startsWith(`${sandboxId} `)) continue;
      this.#idle.delete(key);
      for (const connection of idle) connection.socket.destroy();
    }
  }
}

function idleMsOf(keepAlive: string | undefined): number {
  const seconds = keepAlive === undefined ? null : /timeout=(\d{1,6})/i.exec(keepAlive);
  if (seconds === null) return defaultIdleMs;
  return Math.max(0, Math.min(maxIdleMs, Number(seconds[1]) * 1000 - 1000));
}
