// A login that several gateways or workers renew: one at a time asks the token endpoint, and what it is given the others take
// from the vault in place of asking themselves. A refresh token that was exchanged by one is never spent again by another:
// without the lock, or without a look into the vault, it is not spent at all. What needs none is renewed all the same.
// Reveals nothing but to the vault.
import { createHash, hash } from 'node:crypto';
import { reveal, Secret } from '../../../path/secret.ts';
import { type SharedLocks, type SharedVault, StoreUnavailable } from '../../../path/shared-store.ts';
import { SourceError } from '../sources/secret-source.ts';
import { isMap } from './login-formats.ts';
import { type Login, type LoginKeep, sameValue } from './login-keep.ts';

export interface LoginSharing {
  readonly vault: SharedVault;
  readonly locks: SharedLocks;
}

/** Longer than one who has the lock may take: a lock on a file, and a call. */
const patienceMs = 40_000;
/** A refresh token may be nowhere else: its keep may be one that cannot be written. */
const keepRefreshMs = 30 * 24 * 60 * 60_000;
const keepUnendingMs = 60 * 60_000;

export class SharedLoginKeep implements LoginKeep {
  readonly #name: string;
  readonly #key: string;
  readonly #keep: LoginKeep;
  readonly #sharing: LoginSharing;
  readonly #now: () => number;
  /** What the vault last had, or was given. */
  #shared: SharedLogin | null = null;
  /** A renewal is under way, with what it found in the keep; null: none is. */
  #found: { readonly login: Login | null } | null = null;

  /** `about`: what else the token depends on; with another configuration it is another one. */
  constructor(name: string, about: unknown, keep: LoginKeep, sharing: LoginSharing, now: () => number = Date.now) {
    this.#name = name;
    // Hashed: scopes may be many, and a worker may name only what is short.
    this.#key = `oauth ${name} ${createHash('sha256').update(JSON.stringify(about)).digest('base64url')}`;
    this.#keep = keep;
    this.#sharing = sharing;
    this.#now = now;
  }

  get place(): string {
    return this.#keep.place;
  }

  get again(): string {
    return this.#keep.again;
  }

  /** Its own keep may have what another gateway has long exchanged. */
  load(anew?: boolean): Login | null {
    const found = this.#keep.load(anew);
    return found !== null && this.#isReplaced(found.refresh) ? this.#shared!.login : found;
  }

  async exclusively<Result>(work: (login: Login | null) => Promise<Result>): Promise<Result> {
    let hasBegun = false;
    try {
      return await this.#sharing.locks.exclusively(`oauth ${this.#name}`, patienceMs, () => {
        hasBegun = true;
        return this.#keep.exclusively((found) => this.#renew(found, work));
      });
    } catch (error) {
      if (hasBegun || !(error instanceof StoreUnavailable)) throw error;
      return this.#keep.exclusively((found) => {
        refuseToSpend(found, error);
        return work(found);
      });
    }
  }

  /** First where the others find it, then where it stays. What is only tried again may be old by now, and is not shared. */
  async save(login: Login, replaceable: (refresh: Secret | null) => boolean): Promise<void> {
    if (this.#found !== null) await this.#share(login, this.#found.login, replaceable);
    await this.#keep.save(login, (there) => replaceable(there) || this.#isReplaced(there));
  }

  async #renew<Result>(found: Login | null, work: (login: Login | null) => Promise<Result>): Promise<Result> {
    this.#shared = await this.#look(found);
    this.#found = { login: found };
    try {
      const newest = this.#newer(found);
      // So that it is here after a restart too. Nobody is told when it cannot be: it is not this gateway that renewed it.
      if (newest !== found && newest !== null) {
        await this.#keep.save(newest, (there) => this.#isReplaced(there)).catch(() => {});
      }
      return await work(newest);
    } finally {
      this.#found = null;
    }
  }

  #newer(found: Login | null): Login | null {
    const shared = this.#shared?.login;
    if (found === null || shared === undefined) return found;
    if (this.#isReplaced(found.refresh)) return shared;
    // Logged in anew, or another account: what is in its own keep counts.
    if (!sameValue(found.refresh, shared.refresh)) return found;
    return endOf(shared) > Math.max(endOf(found), this.#now()) ? shared : found;
  }

  #isReplaced(refresh: Secret | null): boolean {
    return refresh !== null && (this.#shared?.replaced.includes(hashOf(refresh)) ?? false);
  }

  async #look(found: Login | null): Promise<SharedLogin | null> {
    try {
      const bytes = await this.#sharing.vault.get(this.#key);
      return bytes === null ? null : decodeLogin(this.#name, bytes);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      refuseToSpend(found, error);
      return this.#shared;
    }
  }

  async #share(login: Login, found: Login | null, replaceable: (refresh: Secret | null) => boolean): Promise<void> {
    const before = this.#shared;
    const isContinued = before !== null && (before.login.refresh === null || replaceable(before.login.refresh));
    const spent = [found?.refresh ?? null, isContinued ? before.login.refresh : null]
      .filter((one) => one !== null)
      .filter((one) => !sameValue(one, login.refresh) && replaceable(one))
      .map(hashOf);
    const replaced = [...new Set([...(isContinued ? before.replaced : []), ...spent])];
    this.#shared = { login: { ...login, obtainedMs: this.#now() }, replaced };
    try {
      await this.#sharing.vault.put(this.#key, encodeLogin(this.#shared), this.#keepMs(login));
    } catch (error) {
      // The others find it out from the endpoint; nothing that was given is lost for it.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }

  #keepMs({ access, refresh }: Login): number {
    if (refresh !== null) return keepRefreshMs;
    const expiresAtMs = access?.expiresAtMs ?? null;
    return expiresAtMs === null ? keepUnendingMs : expiresAtMs - this.#now();
  }
}

function endOf({ access }: Login): number {
  return access === null ? Number.NEGATIVE_INFINITY : (access.expiresAtMs ?? Number.POSITIVE_INFINITY);
}

/** Guards: a refresh token that two spend is theft to a careful provider, which then ends the login. */
function refuseToSpend(found: Login | null, cause: StoreUnavailable): void {
  if (found === null || found.refresh === null) return;
  throw new SourceError(
    `its refresh token was not used: whether another gateway or worker is using it could not be told (${cause.message}). ` +
      'The token at hand is used until it ends; renewing is tried again',
    { cause },
  );
}

// A renewed login as gateways and workers hand it to each other: its tokens, and which refresh tokens it stands in for, as
// hashes. The vault seals what leaves this process. What cannot be read is no login, and never an error that quotes it.
interface SharedLogin {
  readonly login: Login;
  /** Of refresh tokens that were exchanged on the way to this one: where one of them is found, this is newer. */
  readonly replaced: readonly string[];
}

/** As many as a gateway remembers by itself. */
const maxReplaced = 64;

function encodeLogin({ login, replaced }: SharedLogin): Buffer {
  const { access, refresh, idToken, fields, scope, clientId } = login;
  const text = JSON.stringify({
    access: access === null ? null : { value: reveal(access), login: access.login, expiresAtMs: access.expiresAtMs },
    refresh: refresh === null ? null : reveal(refresh),
    idToken: idToken === null ? null : reveal(idToken),
    fields,
    scope,
    clientId,
    obtainedMs: login.obtainedMs,
    replaced: replaced.slice(-maxReplaced),
  });
  return Buffer.from(text);
}

/** `name`: of the credential, which its secrets are known by. Null: it is not one. */
function decodeLogin(name: string, bytes: Buffer): SharedLogin | null {
  let found: unknown;
  try {
    found = JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
  if (!isMap(found) || !Array.isArray(found.fields) || !Array.isArray(found.replaced)) return null;
  const fields = found.fields as Login['fields'];
  const { access, refresh, idToken, scope, clientId, obtainedMs } = found;
  return {
    login: {
      access: readAccess(name, access, fields),
      refresh: typeof refresh === 'string' ? new Secret(`${name} refresh token`, refresh) : null,
      idToken: typeof idToken === 'string' ? new Secret(`${name} id token`, idToken) : null,
      fields,
      scope: typeof scope === 'string' ? scope : null,
      clientId: typeof clientId === 'string' ? clientId : null,
      ...(typeof obtainedMs === 'number' && { obtainedMs }),
    },
    replaced: found.replaced.filter((one) => typeof one === 'string'),
  };
}

/** A login that does not change is looked at with every request. */
const hashes = new WeakMap<Secret, string>();

function hashOf(refresh: Secret): string {
  const known = hashes.get(refresh) ?? hash('sha256', reveal(refresh), 'base64url');
  hashes.set(refresh, known);
  return known;
}

function readAccess(name: string, access: unknown, fields: Login['fields']): Secret | null {
  if (!isMap(access) || typeof access.value !== 'string') return null;
  const expiresAtMs = typeof access.expiresAtMs === 'number' ? access.expiresAtMs : null;
  return new Secret(name, access.value, { login: access.login === true, fields, expiresAtMs });
}
