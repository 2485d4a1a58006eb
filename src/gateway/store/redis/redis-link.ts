// Two connections to one Redis: one for commands, one that listens. They live and die together: whichever fails takes the
// other along, once, and whoever opened them opens new ones. Nothing waits in a queue for a better time, nothing is tried
// again behind the caller's back, and no error leaves an event handler.
import { StoreUnavailable } from '../../../path/shared-store.ts';
import type { StoreSettings } from '../../../policy/compiled-limits.ts';
import type { RedisScript } from './redis-scripts.ts';

const connectMs = 3000;
const commandMs = 1000;

export interface RedisLinkOptions {
  readonly settings: StoreSettings;
  /** Asked for every connection: it may have been changed. */
  readonly password: () => Promise<string | null>;
  readonly channels: readonly string[];
  readonly onMessage: (channel: string, text: string) => void;
  /** Once, with the first failure. Not called when it was closed on purpose. */
  readonly onDown: (reason: string) => void;
}

/** As much of the client as is used here. */
interface Client {
  connect(): Promise<unknown>;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  ref(): void;
  unref(): void;
  destroy(): void;
}

export class RedisLink {
  readonly #commands: Client;
  readonly #listening: Client;
  readonly #onDown: (reason: string) => void;
  #down: string | null = null;

  private constructor(commands: Client, listening: Client, onDown: (reason: string) => void) {
    this.#commands = commands;
    this.#listening = listening;
    this.#onDown = onDown;
    for (const client of [commands, listening]) client.on('error', (error) => this.#fail(error.message));
  }

  /** Both connected and listening, or an error that names what is wrong. */
  static async open(options: RedisLinkOptions): Promise<RedisLink> {
    // Late: it takes longer to load than all the rest of a gateway, and most gateways have no such store.
    const { createClient } = await import('@redis/client');
    const password = await options.password();
    const make = () => createClient({ ...clientOptions(options.settings, password), RESP: 2 }) as Client;
    const link = new RedisLink(make(), make(), options.onDown);
    try {
      await within(connectMs, 'connecting', link.#connect(options));
    } catch (error) {
      link.close();
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
    return link;
  }

  async #connect({ channels, onMessage }: RedisLinkOptions): Promise<void> {
    await Promise.all([this.#commands.connect(), this.#listening.connect()]);
    await this.#listening.subscribe([...channels], (message, channel) => {
      if (this.#down === null) onMessage(channel, message);
    });
  }

  /** Rejects with StoreUnavailable, at once when the link is down. Ends the link when Redis is late, gone or cannot write. */
  async command(...args: (string | number)[]): Promise<unknown> {
    if (this.#down !== null) throw new StoreUnavailable(this.#down);
    try {
      return await within(commandMs, String(args[0]), this.#commands.sendCommand(args.map(String)));
    } catch (error) {
      if (isUnknownScript(error)) throw error;
      if (!isAboutTheCommand(error)) this.#fail(reasonOf(error));
      throw new StoreUnavailable(reasonOf(error), { cause: error });
    }
  }

  async run(script: RedisScript, ...args: (string | number)[]): Promise<unknown> {
    try {
      return await this.command('EVALSHA', script.sha, 0, ...args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await this.command('EVAL', script.text, 0, ...args);
    }
  }

  /** While something is awaited that the process must not end before. */
  keepProcess(alive: boolean): void {
    if (this.#down !== null) return;
    for (const client of [this.#commands, this.#listening]) {
      if (alive) client.ref();
      else client.unref();
    }
  }

  close(): void {
    this.#down ??= 'closed';
    for (const client of [this.#commands, this.#listening]) {
      try {
        client.destroy();
      } catch {
        // Never connected, or ended already.
      }
    }
  }

  #fail(reason: string): void {
    if (this.#down !== null) return;
    this.#down = reason;
    this.close();
    this.#onDown(reason);
  }
}

function clientOptions({ host, port, tls, roots, user, database }: StoreSettings, password: string | null) {
  const dial = { host, port, connectTimeout: connectMs, reconnectStrategy: false as const };
  const ca = roots.length === 0 ? {} : { ca: [...roots] };
  // Said, because an environment variable of Node could unsay it.
  const trust = { tls: true as const, rejectUnauthorized: true, minVersion: 'TLSv1.2' as const, ...ca };
  return {
    socket: tls ? { ...dial, ...trust } : dial,
    ...(user === null ? {} : { username: user }),
    ...(password === null ? {} : { password }),
    database,
    disableOfflineQueue: true,
    // One more command that an ACL would have to allow.
    disableClientInfo: true,
  };
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** Redis is there and would take another one. Not when a right is missing that a script needs: it may have done half. */
function isAboutTheCommand(error: unknown): boolean {
  return error instanceof Error && /^(ERR|WRONGTYPE)\b(?!.*script can't)/.test(error.message);
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message;
  return error instanceof Error ? error.message : String(error);
}

async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // After one more look at the sockets: when this process was held up, the answer may lie there.
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${ms} ms (${what})`))), ms);
    timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
