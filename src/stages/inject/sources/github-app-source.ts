// Tokens of a GitHub App, one for each registration and owner: limited to the sandbox's repositories of that owner,
// kept until shortly before they end, renewed while they are used, revoked when the sandbox goes. A token is kept
// under the very registration it was minted for, so that no other can be given it.

import { coversRepository } from '../../../kit/text/repository-name.ts';
import { waitAtMost } from '../../../kit/wait-at-most.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { Secret } from '../../../path/secret.ts';
import type { GithubAppSpec } from '../../../policy/compiled.ts';
import { type AppToken, type CallGithub, GithubAppApi, NotInstalled, ownerOf } from './github-app-api.ts';
import { signAppProof } from './github-app-key.ts';
import { atHand, type SecretAsker, type SecretSource, SourceError } from './secret-source.ts';

export interface GithubAppPorts {
  readonly call: CallGithub;
  /** Whether this very registration is in force. */
  readonly isLive: (sandbox: Sandbox) => boolean;
  /** For the operator: what was minted and revoked, and for whom. */
  readonly report: (what: string, detail: Readonly<Record<string, unknown>>) => void;
}

/** No token is used in its last minutes: a long push must not outlive it. */
const unusedAtEndMs = 5 * 60_000;
/** Renewed on use after this part of its life: for GitHub's hour, in the last quarter. */
const renewAfter = 0.75;
/** After a failure GitHub is left alone this long. */
const pauseMs = 10_000;
const maxFailures = 100;
/** How long a stop waits for the last tokens to be revoked. */
const closeMs = 3_000;

interface Minting {
  readonly repository: string;
  readonly done: Promise<AppToken>;
}

/** What a registration has with one owner. */
interface Holding {
  readonly sandbox: Sandbox;
  readonly owner: string;
  /** Without the owner; null: all of them. */
  readonly names: readonly string[] | null;
  token: AppToken | null;
  renewAtMs: number;
  /** Renewed, but not over yet. */
  readonly retired: AppToken[];
  minting: Minting | null;
  /** By repository where only one is concerned, otherwise under ''. */
  readonly failures: Map<string, { readonly error: SourceError; readonly sinceMs: number; readonly untilMs: number }>;
  gone: boolean;
}

export class GithubAppSource implements SecretSource {
  readonly #name: string;
  readonly #spec: GithubAppSpec;
  readonly #key: SecretSource;
  readonly #ports: GithubAppPorts;
  readonly #api: GithubAppApi;
  readonly #now: () => number;
  readonly #holdings = new Map<Sandbox, Map<string, Holding>>();
  /** Mints and revocations under way. */
  readonly #underway = new Set<Promise<unknown>>();
  #closed = false;

  /** `now`: milliseconds since the epoch. */
  constructor(
    name: string,
    spec: GithubAppSpec,
    key: SecretSource,
    ports: GithubAppPorts,
    now: () => number = Date.now,
  ) {
    this.#name = name;
    this.#spec = spec;
    this.#key = key;
    this.#ports = ports;
    this.#api = new GithubAppApi(name, spec, ports.call);
    this.#now = now;
  }

  /** A token is for one sandbox: what is seen of the credential itself is its private key. */
  listed(): Secret | null {
    return atHand(this.#key);
  }

  /** null for a request that is about no repository: there is no token that would be for it alone. */
  current(asker: SecretAsker | null): Secret | null | Promise<Secret> {
    const repository = asker === null ? null : (asker.permission.git?.repository ?? asker.permission.repository);
    if (asker === null || repository === null) return null;
    const { sandbox } = asker;
    // Authorize has decided this; a disagreement forwards nothing.
    if (!coversRepository(sandbox.repos, repository)) {
      throw new Error(`an App token was wanted for ${repository}, which is not of ${sandbox.id}`);
    }
    const holding = this.#holdingOf(sandbox, ownerOf(repository));
    const { token } = holding;
    const nowMs = this.#now();
    if (token !== null && nowMs < token.expiresAtMs - unusedAtEndMs) {
      if (nowMs >= holding.renewAtMs) this.#renew(holding, repository);
      return token.secret;
    }
    return this.#fresh(holding, repository);
  }

  /** The sandbox is gone: its tokens are of no more use to anyone. */
  drop(sandboxId: string): void {
    for (const [sandbox, byOwner] of this.#holdings) {
      if (sandbox.id !== sandboxId) continue;
      this.#holdings.delete(sandbox);
      for (const holding of byOwner.values()) this.#end(holding);
    }
  }

  /** Revokes every token, as far as that can be done in a few seconds. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const sandbox of [...this.#holdings.keys()]) this.drop(sandbox.id);
    await waitAtMost(this.#settled(), closeMs, () => {});
  }

  async #settled(): Promise<void> {
    // A mint that ends may begin a revocation.
    while (this.#underway.size > 0) await Promise.allSettled(this.#underway);
  }

  #holdingOf(sandbox: Sandbox, owner: string): Holding {
    const known = this.#holdings.get(sandbox)?.get(owner);
    if (known !== undefined) return known;
    if (this.#closed || !this.#ports.isLive(sandbox)) throw noLonger(sandbox);
    const all = sandbox.repos.includes(`${owner}/*`);
    const own = sandbox.repos.filter((repository) => ownerOf(repository) === owner);
    const holding: Holding = {
      sandbox,
      owner,
      names: all ? null : own.map((repository) => repository.slice(owner.length + 1)),
      token: null,
      renewAtMs: Number.POSITIVE_INFINITY,
      retired: [],
      minting: null,
      failures: new Map(),
      gone: false,
    };
    const byOwner = this.#holdings.get(sandbox) ?? new Map<string, Holding>();
    this.#holdings.set(sandbox, byOwner.set(owner, holding));
    return holding;
  }

  #renew(holding: Holding, repository: string): void {
    if (holding.minting !== null || this.#failureOf(holding, repository) !== null) return;
    // What goes wrong is remembered; the token at hand is good for a while.
    this.#startMinting(holding, repository).done.catch(() => {});
  }

  async #fresh(holding: Holding, repository: string): Promise<Secret> {
    for (;;) {
      const failure = this.#failureOf(holding, repository);
      if (failure !== null) throw failure;
      const minting = holding.minting ?? this.#startMinting(holding, repository);
      try {
        return (await minting.done).secret;
      } catch (error) {
        // The one that was waited for failed for its own repository: that says nothing about this one.
        if (!(error instanceof NotInstalled) || minting.repository === repository) throw error;
      }
    }
  }

  #startMinting(holding: Holding, repository: string): Minting {
    const done = this.#track(
      this.#mint(holding, repository).finally(() => {
        holding.minting = null;
      }),
    );
    holding.minting = { repository, done };
    return holding.minting;
  }

  async #mint(holding: Holding, repository: string): Promise<AppToken> {
    const { sandbox, owner, names } = holding;
    const startedMs = this.#now();
    let token: AppToken;
    try {
      const key = await this.#key.current(null);
      if (key === null) throw new SourceError('the private key of the GitHub App is not set');
      const proof = await signAppProof(key, this.#spec.appId, startedMs);
      const installation = await this.#api.findInstallation(proof, repository);
      token = await this.#api.mint(proof, installation, owner, names);
      if (token.expiresAtMs - unusedAtEndMs <= startedMs) {
        void this.#revoke(holding, token);
        throw new SourceError('the token of GitHub ends too soon to be used: check the clock of this machine');
      }
    } catch (error) {
      throw this.#remember(holding, repository, error);
    }
    // Unregistered meanwhile, or the credential was taken out of the configuration: nobody may have it.
    if (holding.gone || this.#closed || !this.#ports.isLive(sandbox)) {
      void this.#revoke(holding, token);
      throw noLonger(sandbox);
    }
    this.#keep(holding, token, startedMs);
    return token;
  }

  #keep(holding: Holding, token: AppToken, startedMs: number): void {
    const stillGood = holding.retired.filter(({ expiresAtMs }) => expiresAtMs > startedMs);
    if (holding.token !== null) stillGood.push(holding.token);
    holding.retired.splice(0, Number.POSITIVE_INFINITY, ...stillGood);
    holding.token = token;
    holding.renewAtMs = startedMs + (token.expiresAtMs - startedMs) * renewAfter;
    holding.failures.clear();
    const until = new Date(token.expiresAtMs).toISOString();
    this.#ports.report('a GitHub App token was minted', { ...this.#about(holding), until });
  }

  #failureOf(holding: Holding, repository: string): SourceError | null {
    const nowMs = this.#now();
    for (const place of ['', repository]) {
      const known = holding.failures.get(place);
      // A clock that was set back ends the pause: it would last as long as the clock was wrong.
      if (known !== undefined && known.sinceMs <= nowMs && nowMs < known.untilMs) return known.error;
    }
    return null;
  }

  #remember(holding: Holding, repository: string, error: unknown): SourceError {
    const told = error instanceof SourceError ? error : new SourceError('a token could not be made', { cause: error });
    // Under `owner/*` a sandbox can think up names without end.
    if (holding.failures.size >= maxFailures) holding.failures.clear();
    const place = told instanceof NotInstalled ? repository : '';
    const sinceMs = this.#now();
    holding.failures.set(place, { error: told, sinceMs, untilMs: sinceMs + pauseMs });
    return told;
  }

  #end(holding: Holding): void {
    holding.gone = true;
    for (const token of [holding.token, ...holding.retired]) {
      if (token !== null && token.expiresAtMs > this.#now()) void this.#revoke(holding, token);
    }
    holding.token = null;
    holding.retired.length = 0;
  }

  /** Best effort: what cannot be revoked ends within the hour. Never rejects. */
  #revoke(holding: Holding, token: AppToken): Promise<void> {
    return this.#track(
      this.#api.revoke(token.secret).then(
        () => this.#ports.report('a GitHub App token was revoked', this.#about(holding)),
        (error: unknown) =>
          this.#ports.report('a GitHub App token could not be revoked', { ...this.#about(holding), error }),
      ),
    );
  }

  #about({ sandbox, owner, names }: Holding): Record<string, unknown> {
    const repositories = names === null ? [`${owner}/*`] : names.map((name) => `${owner}/${name}`);
    return { credential: this.#name, sandbox: sandbox.id, repositories };
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = work.then(
      () => this.#underway.delete(settled),
      () => this.#underway.delete(settled),
    );
    this.#underway.add(settled);
    return work;
  }
}

function noLonger(sandbox: Sandbox): SourceError {
  return new SourceError(`${sandbox.id} is no longer registered, or the credential is no longer configured`);
}
