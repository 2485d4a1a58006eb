// Files that make agents believe they are logged in, where what the gateway has is a login and not a key: each in the form
// in which the agent itself writes it, with placeholders for tokens. Nothing in them is of the real login. When one of them
// has expired, the agent asks the token endpoint for another, and the gateway answers with placeholders again.
import {
  claudeScopes,
  googleScopes,
  placeholderAccount,
  placeholderAddress,
  placeholderTokens,
} from '../../kit/text/placeholder-tokens.ts';

export interface LoginStubOptions {
  /** What the sandbox may use. */
  readonly credentials: ReadonlySet<string>;
  /** Those of them that are a login where they could also be a key. */
  readonly logins: ReadonlySet<string>;
  readonly nowMs: number;
}

/** A file below the home, to be written as JSON. */
export interface LoginStub {
  readonly path: string;
  readonly content: object;
}

export function loginStubs({ credentials, logins, nowMs }: LoginStubOptions): readonly LoginStub[] {
  const stubs: LoginStub[] = [];
  if (logins.has('anthropic')) stubs.push({ path: '.claude/.credentials.json', content: claudeLogin(nowMs) });
  if (credentials.has('chatgpt')) stubs.push({ path: '.codex/auth.json', content: codexLogin(nowMs) });
  if (credentials.has('gemini')) {
    stubs.push({ path: '.gemini/oauth_creds.json', content: geminiLogin(nowMs) });
    // Else gemini asks Google who this is, on a host that no rule allows.
    stubs.push({ path: '.gemini/google_accounts.json', content: { active: placeholderAddress, old: [] } });
  }
  return stubs;
}

/** Entries of opencode's file, by its name for the provider. */
export function opencodeLogins({ credentials, logins, nowMs }: LoginStubOptions): Record<string, object> {
  const entries: Record<string, object> = {};
  // A key serves every model there, a ChatGPT login only those of Codex: the key goes first.
  if (credentials.has('chatgpt') && !credentials.has('openai')) {
    const { accessToken, refreshToken, expiresInSeconds } = placeholderTokens('chatgpt', 'chatgpt', nowMs);
    const expires = nowMs + expiresInSeconds * 1000;
    entries.openai = {
      type: 'oauth',
      refresh: refreshToken,
      access: accessToken,
      expires,
      accountId: placeholderAccount,
    };
  }
  if (credentials.has('copilot')) {
    const { accessToken, refreshToken } = placeholderTokens('copilot', 'copilot', nowMs);
    // Never ends, as opencode writes it.
    entries['github-copilot'] = { type: 'oauth', refresh: refreshToken, access: accessToken, expires: 0 };
  }
  for (const [name, more] of [['xai', {}] as const, ['gitlab', { enterpriseUrl: 'https://gitlab.com' }] as const]) {
    if (!logins.has(name)) continue;
    const { accessToken, refreshToken, expiresInSeconds } = placeholderTokens('generic', name, nowMs);
    const expires = nowMs + expiresInSeconds * 1000;
    entries[name] = { type: 'oauth', refresh: refreshToken, access: accessToken, expires, ...more };
  }
  return entries;
}

function claudeLogin(nowMs: number): object {
  const { accessToken, refreshToken, expiresInSeconds } = placeholderTokens('claude', 'anthropic', nowMs);
  return {
    claudeAiOauth: {
      accessToken,
      refreshToken,
      expiresAt: nowMs + expiresInSeconds * 1000,
      scopes: claudeScopes,
      // The smallest: Claude takes its first model by it, and another can be chosen.
      subscriptionType: 'pro',
    },
  };
}

function codexLogin(nowMs: number): object {
  const { accessToken, refreshToken, idToken } = placeholderTokens('chatgpt', 'chatgpt', nowMs);
  return {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: {
      id_token: idToken,
      access_token: accessToken,
      refresh_token: refreshToken,
      account_id: placeholderAccount,
    },
    last_refresh: new Date(nowMs).toISOString(),
  };
}

function geminiLogin(nowMs: number): object {
  const { accessToken, refreshToken, expiresInSeconds } = placeholderTokens('google', 'gemini', nowMs);
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    scope: googleScopes.join(' '),
    token_type: 'Bearer',
    expiry_date: nowMs + expiresInSeconds * 1000,
  };
}
