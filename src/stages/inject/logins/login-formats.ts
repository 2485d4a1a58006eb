// How each agent writes its login down: what of its file is the login, and how a renewed one is put in its place. Nothing
// else in the file is touched, known or not. Reads what is there with suspicion: the file is the user's, its content came
// from a network.
import { type AboutSecret, reveal, type Secret } from '../../../path/secret.ts';
import type { Login } from './login-keep.ts';
import { jwtEndMs, refreshTokenOf, tokenOf } from './oauth-grant.ts';

export type JsonMap = Record<string, unknown>;

export interface LoginFormat {
  /** `document` as it was parsed. Null: there is no login in it. May throw when a token cannot be one. */
  read(document: JsonMap, name: string): Login | null;
  /** Puts the login into the document, which has one. */
  write(document: JsonMap, login: Login, nowMs: number): void;
}

/** ~/.claude/.credentials.json */
export const claudeFormat: LoginFormat = {
  read({ claudeAiOauth: entry }, name) {
    if (!isMap(entry)) return null;
    const { scopes } = entry;
    const scope = Array.isArray(scopes) ? scopes.filter((one) => typeof one === 'string').join(' ') : '';
    const expiresAtMs = timeOf(entry.expiresAt);
    return loginOf(name, entry.accessToken, entry.refreshToken, { expiresAtMs }, { scope, clientId: entry.clientId });
  },
  write({ claudeAiOauth: entry }, login, nowMs) {
    if (!isMap(entry)) return;
    put(entry, 'accessToken', login.access);
    put(entry, 'refreshToken', login.refresh);
    entry.expiresAt = endOf(login, nowMs);
    if (login.scope !== null) entry.scopes = login.scope.split(' ');
  },
};

/** ~/.codex/auth.json */
export const codexFormat: LoginFormat = {
  read({ auth_mode: mode, tokens: entry }, name) {
    // With an API key in force the tokens beside it are what is left of a login.
    if (!isMap(entry) || (typeof mode === 'string' && !mode.startsWith('chatgpt'))) return null;
    const { access_token: access, refresh_token: refresh, account_id: account, id_token: idToken } = entry;
    const expiresAtMs = typeof access === 'string' ? jwtEndMs(access) : null;
    return loginOf(name, access, refresh, { expiresAtMs, fields: accountField(account) }, { idToken });
  },
  write(document, login, nowMs) {
    const { tokens: entry } = document;
    if (!isMap(entry)) return;
    put(entry, 'id_token', login.idToken);
    put(entry, 'access_token', login.access);
    put(entry, 'refresh_token', login.refresh);
    document.last_refresh = new Date(nowMs).toISOString();
  },
};

/** ~/.gemini/oauth_creds.json */
export const geminiFormat: LoginFormat = {
  read(entry, name) {
    const { access_token: access, refresh_token: refresh, id_token: idToken, scope } = entry;
    return loginOf(name, access, refresh, { expiresAtMs: timeOf(entry.expiry_date) }, { idToken, scope });
  },
  write(entry, login, nowMs) {
    put(entry, 'access_token', login.access);
    put(entry, 'refresh_token', login.refresh);
    put(entry, 'id_token', login.idToken);
    if (login.scope !== null) entry.scope = login.scope;
    entry.expiry_date = endOf(login, nowMs);
  },
};

/** ~/.local/share/opencode/auth.json, one entry for each provider. `instance`: the only one that the login may be for. */
export function opencodeFormat(provider: string, instance: string | null = null): LoginFormat {
  return {
    read(document, name) {
      const entry = opencodeEntry(document, provider, instance);
      if (entry === null) return null;
      const { access, refresh, accountId } = entry;
      const fields = provider === 'openai' ? accountField(accountId) : [];
      return loginOf(name, access, refresh, { expiresAtMs: timeOf(entry.expires), fields });
    },
    write(document, login, nowMs) {
      const entry = opencodeEntry(document, provider, instance);
      if (entry === null) return;
      put(entry, 'access', login.access);
      put(entry, 'refresh', login.refresh);
      entry.expires = endOf(login, nowMs);
    },
  };
}

/**
 * An entry of opencode whose token goes out as it is and is never renewed: that of GitHub Copilot is in `refresh` and does
 * not end, that of Poe is in `access`.
 */
export function opencodeStaticFormat(provider: string, member: 'access' | 'refresh'): LoginFormat {
  return {
    read(document, name) {
      const entry = opencodeEntry(document, provider, null);
      const token = entry === null ? null : textOf(entry[member]);
      if (entry === null || token === null) return null;
      return loginOf(name, token, null, { expiresAtMs: timeOf(entry.expires) });
    },
    write() {},
  };
}

/** Guards: a token of a company's own instance that would go to the public one. */
function opencodeEntry(document: JsonMap, provider: string, instance: string | null): JsonMap | null {
  const entry = Object.hasOwn(document, provider) ? document[provider] : null;
  if (!isMap(entry) || entry.type !== 'oauth') return null;
  const url = textOf(entry.enterpriseUrl);
  return url === null || url === instance ? entry : null;
}

/** Null: neither a token nor a way to one. */
function loginOf(
  name: string,
  access: unknown,
  refresh: unknown,
  about: AboutSecret,
  rest: { readonly idToken?: unknown; readonly scope?: unknown; readonly clientId?: unknown } = {},
): Login | null {
  const [accessToken, refreshToken, idToken] = [textOf(access), textOf(refresh), textOf(rest.idToken)];
  if (accessToken === null && refreshToken === null) return null;
  return {
    access: accessToken === null ? null : tokenOf(name, accessToken, 'its access token', { ...about, login: true }),
    refresh: refreshToken === null ? null : refreshTokenOf(name, refreshToken, 'its refresh token'),
    idToken: idToken === null ? null : tokenOf(`${name} id token`, idToken, 'its id token'),
    fields: about.fields ?? [],
    scope: textOf(rest.scope),
    clientId: textOf(rest.clientId),
  };
}

/** Guards: a file that would put a field of its own, or a line end, into every request. */
function accountField(account: unknown): readonly (readonly [string, string])[] {
  const text = textOf(account);
  return text !== null && /^[A-Za-z0-9_-]{1,128}$/.test(text) ? [['ChatGPT-Account-Id', text]] : [];
}

function put(entry: JsonMap, member: string, secret: Secret | null): void {
  if (secret !== null) entry[member] = reveal(secret);
}

/** These files must have a time; an hour is what opencode takes for one that is not said. */
function endOf({ access }: Login, nowMs: number): number {
  return access?.expiresAtMs ?? nowMs + 3_600_000;
}

/** A time of 0 stands for none. One that is not a number has passed: then it is looked at again, and renewed. */
function timeOf(value: unknown): number | null {
  if (value === undefined || value === null || value === 0) return null;
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 8.64e15 ? value : 1;
}

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
