// A credential that has to be renewed: the access token of a login, of a client or of a service account. Hands it out
// while it is good, renews it before it ends, once for all who wait, and leaves the endpoint alone for a while when that
// fails. A refresh token that the endpoint has given us is never lost: it is saved first, and if that fails, kept in memory
// and saved later. Never puts a token into an error or a report.

import { waitAtMost } from '../../../kit/wait-at-most.ts';
import type { Secret } from '../../../path/secret.ts';
import { type SecretSource, SourceError } from '../sources/secret-source.ts';
import { type Login, type LoginKeep, sameValue, secretsOf } from './login-keep.ts';
import { LoginMemory } from './login-memory.ts';
import { LoginSaver } from './login-saver.ts';
import { OAuthBackOff } from './oauth-back-off.ts';
import { type CallTokenEndpoint, TokenRefused } from './oauth-call.ts';
import type { TokenGrant } from './oauth-grant.ts';

export interface OAuthPorts {
  readonly call: CallTokenEndpoint;
  /** For the operator: what was renewed, what could not be, and what to do. */
  readonly report: (what: string, detail: Readonly<Record<string, unknown>>) => void;
  /** For what the operator must act upon; absent: the same. */
  readonly alarm?: (what: string, detail: Readonly<Record<string, unknown>>) => void;
  /** Takes note of every real value: what has to be kept out of answers and of requests to others. */
  readonly note: (secret: Secret) => void;
}

/** A little longer than a call may take: what comes last may be the only refresh token that is still good. */
const closeMs = 16_000;

export class OAuthSource implements SecretSource {
  readonly #name: string;
  /** Null: what is there cannot be renewed, only replaced. */
  readonly #grant: TokenGrant | null;
  readonly #keep: LoginKeep;
  readonly #ports: Omit<OAuthPorts, 'call'>;
  readonly #now: () => number;
  readonly #memory: LoginMemory;
  readonly #backOff: OAuthBackOff;
  readonly #saver: LoginSaver;
  #renewing: Promise<Secret> | null = null;
  /** What the operator has heard last. */
  #told: SourceError | null = null;

  /** `now`: milliseconds since the epoch. */
  constructor(
    name: string,
    grant: TokenGrant | null,
    keep: LoginKeep,
    ports: Omit<OAuthPorts, 'call'>,
    now: () => number = Date.now,
  ) {
    this.#name = name;
    this.#grant = grant;
    this.#keep = keep;
    this.#ports = ports;
    this.#now = now;
    this.#memory = new LoginMemory(now, (login) => this.#startAnew(login));
    this.#backOff = new OAuthBackOff(now);
    this.#saver = new LoginSaver(
      keep,
      (there) => this.#memory.replaces(there),
      (why) => this.#couldNotSave(why),
      now,
    );
  }

  current(): Secret | null | Promise<Secret> {
    const login = this.#look();
    if (login === null) return null;
    this.#saver.nudge();
    const { access } = login;
    if (access === null || !this.#memory.isGood(access)) return this.#fresh();
    if (this.#memory.isNearItsEnd(access) && this.#mayRenew(login)) {
      // What goes wrong is remembered and reported; the token at hand is good for a while.
      this.#renew().catch(() => {});
    }
    return access;
  }

  async renewed(rejected: Secret): Promise<Secret | null> {
    try {
      const login = this.#look(true);
      if (login === null) return null;
      const { access } = login;
      if (access !== null && !sameValue(access, rejected)) {
        return this.#memory.isGood(access) ? access : await this.#fresh();
      }
      if (this.#renewing === null && !this.#mayReplace(login)) return null;
      const instead = await this.#renew(rejected);
      return sameValue(instead, rejected) ? null : instead;
    } catch (error) {
      // It was reported where it happened; the client gets the answer that it has.
      if (error instanceof SourceError) return null;
      throw error;
    }
  }

  /** What was last handed out or found, good or not, without asking anybody. */
  listed(): Secret | null {
    return this.#look()?.access ?? null;
  }

  /** Whether there is a login at all, good or not. Throws SourceError. */
  isLoggedIn(): boolean {
    return this.#look() !== null;
  }

  get problem(): string | null {
    if (this.#saver.isPending)
      return `the new refresh token could not be saved in ${this.#keep.place}: it is in memory alone`;
    return this.#backOff.unmended(this.#memory.login?.refresh ?? null)?.message ?? null;
  }

  get origin(): string {
    return this.#keep.place;
  }

  /** Waits for what is under way, as long as an endpoint may take, and tries once more to save what is not saved. */
  async close(): Promise<void> {
    await waitAtMost(
      this.#settled().catch(() => {}),
      closeMs,
      () => {},
    );
  }

  async #settled(): Promise<void> {
    await this.#renewing?.catch(() => {});
    await this.#saver.close();
  }

  #look(anew = false): Login | null {
    return this.#memory.newer(this.#keep.load(anew));
  }

  /** Logged out, or logged in anew: what was known of the last login, and what was not saved of it, is of no more use. */
  #startAnew(login: Login | null): void {
    if (login !== null) for (const secret of secretsOf(login)) this.#ports.note(secret);
    this.#backOff.forget();
    this.#saver.drop();
  }

  #mayRenew({ refresh }: Login): boolean {
    const grant = this.#grant;
    if (grant === null || (refresh === null && grant.needsRefreshToken)) return false;
    return this.#backOff.problem(refresh) === null;
  }

  /** Whether a token that an upstream has rejected is worth another. */
  #mayReplace(login: Login): boolean {
    // Its keep may have another login by now that cannot be seen without waiting; the endpoint is not asked with the dead one.
    if (this.#backOff.finalProblem(login.refresh) !== null) return this.#backOff.pause() === null;
    return this.#mayRenew(login) && this.#backOff.mayReplaceRejected(this.#memory.obtainedMs);
  }

  async #fresh(): Promise<Secret> {
    const problem = this.#backOff.pause();
    if (problem !== null && this.#renewing === null) throw problem;
    return this.#renew();
  }

  /** One at a time: who comes while it is under way gets what it brings. */
  #renew(rejected: Secret | null = null): Promise<Secret> {
    this.#renewing ??= this.#renewAlone(rejected).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #renewAlone(rejected: Secret | null): Promise<Secret> {
    const before = rejected ?? this.#memory.login?.access ?? null;
    try {
      return await this.#keep.exclusively(async (found) => {
        const login = this.#memory.newer(found);
        if (login === null) throw new SourceError(`nobody is logged in any more (${this.#keep.place})`);
        // Somebody else has renewed it since: the agent of the user, or another gateway.
        return this.#memory.goodOtherThan(before, login) ?? (await this.#exchange(login));
      });
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #exchange(login: Login): Promise<Secret> {
    const grant = this.#grant;
    if (grant === null || (login.refresh === null && grant.needsRefreshToken)) {
      throw new SourceError(`the login in ${this.#keep.place} has ended and cannot be renewed: ${this.#keep.again}`);
    }
    const known = this.#backOff.finalProblem(login.refresh);
    if (known !== null) throw known;
    const startedMs = this.#now();
    let renewed: Login;
    try {
      renewed = await grant.ask(login, startedMs);
    } catch (error) {
      // Somebody who does not keep to the lock may have spent it a moment before us.
      const other = this.#memory.goodOtherThan(login.access, this.#lookQuietly() ?? login);
      if (other !== null) return other;
      if (!(error instanceof TokenRefused && error.isFinal) || login.refresh === null) throw error;
      throw this.#backOff.end(login.refresh, this.#endOfLogin(grant.host, error));
    }
    return this.#keepRenewed(login, renewed, startedMs);
  }

  async #keepRenewed(before: Login, renewed: Login, startedMs: number): Promise<Secret> {
    const { access } = renewed;
    if (access === null) throw new SourceError('a grant that gave no access token');
    for (const secret of secretsOf(renewed)) this.#ports.note(secret);
    this.#memory.exchanged(before, renewed, startedMs);
    this.#backOff.succeeded();
    // Before anybody is told: from here on the old one is of no use, and this process is the only one that has the new.
    await this.#saver.save(renewed);
    const until = access.expiresAtMs === null ? null : new Date(access.expiresAtMs).toISOString();
    this.#ports.report('a token was renewed', { ...this.#about(), until });
    return access;
  }

  #lookQuietly(): Login | null {
    try {
      return this.#look(true);
    } catch {
      return null;
    }
  }

  #failed(error: unknown): SourceError {
    const told =
      error instanceof SourceError ? error : new SourceError('a token could not be renewed', { cause: error });
    const pauseMs = this.#backOff.failed(told);
    // The end of a login is told once, however often it is asked for.
    if (told === this.#told) return told;
    this.#told = told;
    this.#alarm('a token could not be renewed', {
      error: told.message,
      nextTryInSeconds: pauseMs === null ? null : Math.round(pauseMs / 1000),
    });
    return told;
  }

  #endOfLogin(host: string, { code, status }: TokenRefused): SourceError {
    const { place, again } = this.#keep;
    return new SourceError(
      `${host} does not take the login in ${place} any more (${code}, status ${status}): ${again}`,
    );
  }

  #couldNotSave(why: string): void {
    this.#alarm(
      `THE NEW REFRESH TOKEN COULD NOT BE SAVED in ${this.#keep.place}: it is in the memory of the gateway alone, and the login is lost when the gateway stops. Make the file writable (disk full? read-only? a file mounted by itself: mount its folder); saving is tried again`,
      { error: why },
    );
  }

  #alarm(what: string, detail: Record<string, unknown>): void {
    const { report, alarm = report } = this.#ports;
    alarm(what, { ...this.#about(), ...detail });
  }

  #about(): Record<string, unknown> {
    return { credential: this.#name, place: this.#keep.place };
  }
}
