// Keeps hearing what happens to Docker's containers: begins again when the stream breaks off, soon at first, then more
// slowly, and says when it hears nothing, because what was not heard must not be taken for nothing having happened.
import type { DockerApi, EventStream } from './docker-api.ts';
import { asDockerError, type DockerError } from './docker-error.ts';
import type { DockerEvent } from './docker-shapes.ts';

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A daemon that hangs keeps its stream open: this often it must give another sign of life. */
const beatEveryMs = 10_000;

export interface ListeningParts {
  readonly api: DockerApi;
  readonly onEvent: (event: DockerEvent) => void;
  /** From now on nothing is missed; what happened before must be asked for. */
  readonly onUp: () => void;
  readonly onDown: (error: DockerError) => void;
  readonly beatMs?: number;
}

export class DockerEvents {
  readonly #parts: ListeningParts;
  #stream: EventStream | null = null;
  #attempt: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pauseMs = firstPauseMs;
  #failure: { readonly error: DockerError; readonly atMs: number } | null = null;
  #closed = false;

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  get isUp(): boolean {
    return this.#stream !== null;
  }

  /** Why it hears nothing; null while it does, or before it has tried. */
  get failure(): DockerError | null {
    return this.isUp ? null : (this.#failure?.error ?? null);
  }

  /** Resolves when events are heard. Tries at once unless it has just tried. Rejects with a DockerError. */
  ready(): Promise<void> {
    if (this.#closed)
      return Promise.reject(asDockerError(new Error('nobody listens any more'), this.#parts.api.socket));
    if (this.isUp) return Promise.resolve();
    if (this.#attempt !== null) return this.#attempt;
    const failed = this.#failure;
    // Whoever asks often, because a sandbox calls often, must not make us try as often.
    if (failed !== null && performance.now() - failed.atMs < firstPauseMs) return Promise.reject(failed.error);
    return this.#begin();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = null;
  }

  #begin(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#attempt ??= this.#try().finally(() => {
      this.#attempt = null;
    });
    return this.#attempt;
  }

  async #try(): Promise<void> {
    const { api, onEvent, onUp } = this.#parts;
    let endedEarly: DockerError | null = null;
    try {
      // Docker sends the head of its answer before it listens for events. Asking from this second on covers the gap.
      const stream = await api.openEvents(Math.floor(Date.now() / 1000), {
        event: onEvent,
        ended: (error) => {
          endedEarly = error;
          if (this.#stream !== null) this.#down(error);
        },
      });
      if (this.#closed) {
        stream.close();
        throw new Error('nobody listens any more');
      }
      if (endedEarly !== null) throw endedEarly;
      this.#stream = stream;
    } catch (error) {
      const known = asDockerError(error, api.socket);
      this.#down(known);
      throw known;
    }
    this.#pauseMs = firstPauseMs;
    this.#feelPulse(this.#stream);
    onUp();
  }

  #feelPulse(stream: EventStream): void {
    const { api, beatMs = beatEveryMs } = this.#parts;
    const beat = async (): Promise<void> => {
      try {
        if (this.#stream === stream) await api.version();
        if (this.#stream === stream) this.#feelPulse(stream);
      } catch (error) {
        if (this.#stream !== stream) return;
        stream.close();
        this.#down(asDockerError(error, api.socket));
      }
    };
    setTimeout(() => void beat(), beatMs).unref();
  }

  #down(error: DockerError): void {
    const wasUp = this.isUp;
    this.#stream = null;
    if (this.#closed) return;
    // A stream that broke off is no attempt that failed: the next one may come at once.
    this.#failure = { error, atMs: wasUp ? Number.NEGATIVE_INFINITY : performance.now() };
    this.#timer = setTimeout(() => this.#begin().catch(() => {}), this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    this.#parts.onDown(error);
  }
}
