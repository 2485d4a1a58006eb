// Sees to it that a renewed login is saved: at once, and if that fails again and again until it is, or until there is
// another login in its place. Losing a refresh token that was exchanged loses the login. Never throws; tells the operator.
import type { Secret } from '../../../path/secret.ts';
import { SourceError } from '../sources/secret-source.ts';
import type { Login, LoginKeep } from './login-keep.ts';

const againMs = 30_000;
/** However many requests there are, the disk is not tried more often. */
const againOnUseMs = 1_000;

export class LoginSaver {
  readonly #keep: LoginKeep;
  readonly #replaceable: (refresh: Secret | null) => boolean;
  readonly #report: (why: string) => void;
  readonly #now: () => number;
  #pending: Login | null = null;
  #saving: Promise<void> | null = null;
  #triedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  /** `replaceable`: whether a login with this refresh token is older than what is to be saved. */
  constructor(
    keep: LoginKeep,
    replaceable: (refresh: Secret | null) => boolean,
    report: (why: string) => void,
    now: () => number,
  ) {
    this.#keep = keep;
    this.#replaceable = replaceable;
    this.#report = report;
    this.#now = now;
  }

  /** Something is in memory alone. */
  get isPending(): boolean {
    return this.#pending !== null;
  }

  /** Resolves when it is on the disk, or when that has failed for now. */
  async save(login: Login): Promise<void> {
    this.#pending = login;
    await this.#try();
  }

  /** On use: there may be room again. */
  nudge(): void {
    if (this.#pending !== null && Math.abs(this.#now() - this.#triedMs) >= againOnUseMs) void this.#try();
  }

  /** There is another login, or none any more. */
  drop(): void {
    this.#pending = null;
  }

  async close(): Promise<void> {
    await this.#saving;
    if (this.#pending !== null) await this.#try();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #try(): Promise<void> {
    this.#saving ??= this.#tryAlone().finally(() => {
      this.#saving = null;
    });
    return this.#saving;
  }

  async #tryAlone(): Promise<void> {
    this.#triedMs = this.#now();
    while (this.#pending !== null) {
      const login = this.#pending;
      try {
        await this.#keep.save(login, this.#replaceable);
        // A newer one may have come while this one was written.
        if (this.#pending === login) this.#pending = null;
      } catch (error) {
        // Or it was given up: what went wrong with it is of no more interest.
        if (this.#pending !== login) continue;
        this.#report(error instanceof SourceError ? error.message : codeOf(error));
        this.#timer ??= setTimeout(() => {
          this.#timer = null;
          void this.#try();
        }, againMs).unref();
        return;
      }
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
