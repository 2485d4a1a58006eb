// Questions and notices between the gateway's own process and one of its workers, over the socket pair that the worker was
// started with. Order is kept. Knows what may be said by its verbs alone; what a worker says is looked at before it is
// believed, and one that says anything else is no worker of ours any more.
import type { Socket } from 'node:net';
import { StoreUnavailable } from '../../path/shared-store.ts';

/** Each verb with what is sent, and what comes back from whoever is asked. */
export type Verbs = Readonly<Record<string, { readonly body: unknown; readonly answer: unknown }>>;

export type Handlers<In extends Verbs> = {
  readonly [V in keyof In]: (body: In[V]['body'], handle: Socket | null) => In[V]['answer'] | Promise<In[V]['answer']>;
};

/** Returns the body as it is to be read; throws at anything that is none. */
export type BodyReaders<In extends Verbs> = { readonly [V in keyof In]: (body: unknown) => In[V]['body'] };

/** The end of a channel, as Node has it: `process` in a worker, the child in the primary. */
export interface ChannelEnd {
  send(message: object, handle?: Socket): void;
  onMessage(listener: (message: unknown, handle: Socket | null) => void): void;
}

export interface ChannelOptions<In extends Verbs> {
  readonly handlers: Handlers<In>;
  /** Where what comes in is not taken at its word. */
  readonly readers?: BodyReaders<In>;
  /** Something came that means nothing here. */
  readonly onNonsense: (error: Error) => void;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** More questions at a time than a worker of ours can have. */
const maxWaiting = 100_000;

export class Channel<Out extends Verbs, In extends Verbs> {
  readonly #end: ChannelEnd;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #closed = false;
  #options: ChannelOptions<In> | null = null;
  /** What came before anybody answers here. */
  #early: [message: unknown, handle: Socket | null][] = [];

  constructor(end: ChannelEnd) {
    this.#end = end;
    end.onMessage((message, handle) => this.#hear(message, handle));
  }

  /** From now on the other side is answered. What it has said before is heard first, in order. */
  answer(options: ChannelOptions<In>): void {
    this.#options = options;
    const early = this.#early;
    this.#early = [];
    for (const [message, handle] of early) this.#hear(message, handle);
  }

  /** Rejects with StoreUnavailable when the other side is gone or cannot do it, with its words. */
  ask<V extends keyof Out & string>(verb: V, body: Out[V]['body']): Promise<Out[V]['answer']> {
    if (this.#closed || this.#waiting.size >= maxWaiting) return Promise.reject(gone());
    const ask = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(ask, { resolve, reject });
      this.#send({ verb, body, ask });
    });
  }

  tell<V extends keyof Out & string>(verb: V, body: Out[V]['body'], handle?: Socket): void {
    if (!this.#closed) this.#send({ verb, body }, handle);
    else handle?.destroy();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** The other side is gone: whoever waits is told. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const [, handle] of this.#early.splice(0)) handle?.destroy();
    for (const { reject } of this.#waiting.values()) reject(gone());
    this.#waiting.clear();
  }

  #send(message: object, handle?: Socket): void {
    try {
      this.#end.send(message, handle);
    } catch {
      // The other side has just ended; its end is reported in its own way.
      handle?.destroy();
    }
  }

  #hear(message: unknown, handle: Socket | null): void {
    if (this.#closed) {
      handle?.destroy();
      return;
    }
    const envelope = isEnvelope(message) ? message : null;
    if (envelope !== null && 'answer' in envelope) this.#answered(envelope);
    else if (this.#options === null) this.#early.push([message, handle]);
    else if (envelope !== null) this.#asked(envelope, handle, this.#options);
    else nonsense(new Error('a message is not one of the gateway'), handle, this.#options);
  }

  #answered({ answer, body, error }: Answered): void {
    const waiting = this.#waiting.get(answer);
    this.#waiting.delete(answer);
    if (error === undefined) waiting?.resolve(body);
    else waiting?.reject(new StoreUnavailable(error));
  }

  #asked({ verb, body, ask }: Asked, handle: Socket | null, options: ChannelOptions<In>): void {
    const { handlers, readers } = options;
    const handler = Object.hasOwn(handlers, verb) ? handlers[verb] : undefined;
    if (handler === undefined) {
      nonsense(new Error(`nobody knows the verb ${verb.slice(0, 32)}`), handle, options);
      return;
    }
    let read: In[string]['body'];
    try {
      read = readers === undefined ? body : readers[verb]!(body);
    } catch (cause) {
      nonsense(new Error(`what came with the verb ${verb} cannot be read`, { cause }), handle, options);
      return;
    }
    const answer = (done: unknown): void => {
      if (ask !== undefined && !this.#closed) this.#send({ answer: ask, body: done });
    };
    const fail = (error: unknown): void => {
      if (ask === undefined) options.onNonsense(error instanceof Error ? error : new Error(String(error)));
      else if (!this.#closed)
        this.#send({ answer: ask, error: error instanceof Error ? error.message : String(error) });
    };
    try {
      const done: unknown = handler(read, handle);
      if (done instanceof Promise) done.then(answer, fail);
      else answer(done);
    } catch (error) {
      fail(error);
    }
  }
}

interface Asked {
  readonly verb: string;
  readonly body: unknown;
  /** Absent: no answer is waited for. */
  readonly ask?: number;
}

interface Answered {
  readonly answer: number;
  readonly body?: unknown;
  readonly error?: string;
}

function nonsense(
  error: Error,
  handle: Socket | null,
  { onNonsense }: { readonly onNonsense: (error: Error) => void },
): void {
  handle?.destroy();
  onNonsense(error);
}

function isEnvelope(message: unknown): message is Asked | Answered {
  if (typeof message !== 'object' || message === null) return false;
  const { verb, ask, answer, error } = message as Record<string, unknown>;
  if (answer !== undefined) return typeof answer === 'number' && (error === undefined || typeof error === 'string');
  return typeof verb === 'string' && (ask === undefined || typeof ask === 'number');
}

function gone(): StoreUnavailable {
  return new StoreUnavailable('the other process of this gateway does not answer');
}
