// A renewed login as gateways and workers hand it to each other: its tokens, and which refresh tokens it stands in for, as
// hashes. The vault seals what leaves this process. What cannot be read is no login, and never an error that quotes it.
import { hash } from 'node:crypto';
import { reveal, Secret } from '../../../path/secret.ts';
import { isMap } from './login-formats.ts';
import type { Login } from './login-keep.ts';

export interface SharedLogin {
  readonly login: Login;
  /** Of refresh tokens that were exchanged on the way to this one: where one of them is found, this is newer. */
  readonly replaced: readonly string[];
}

/** As many as a gateway remembers by itself. */
const maxReplaced = 64;

export function encodeLogin({ login, replaced }: SharedLogin): Buffer {
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
export function decodeLogin(name: string, bytes: Buffer): SharedLogin | null {
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

export function hashOf(refresh: Secret): string {
  const known = hashes.get(refresh) ?? hash('sha256', reveal(refresh), 'base64url');
  hashes.set(refresh, known);
  return known;
}

function readAccess(name: string, access: unknown, fields: Login['fields']): Secret | null {
  if (!isMap(access) || typeof access.value !== 'string') return null;
  const expiresAtMs = typeof access.expiresAtMs === 'number' ? access.expiresAtMs : null;
  return new Secret(name, access.value, { login: access.login === true, fields, expiresAtMs });
}
