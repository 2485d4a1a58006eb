// What a token endpoint says to a sandbox, in the words of each provider. Made of placeholders alone: the same for every
// sandbox and every login, so that nothing of the real one can be in it.
import {
  claudeScopes,
  googleScopes,
  type PlaceholderTokens,
  placeholderAccount,
  placeholderTokens,
} from '../../../kit/text/placeholder-tokens.ts';
import type { TokenAnswer } from '../../../policy/compiled.ts';

export function madeAnswer(kind: TokenAnswer, credential: string, nowMs: number): object {
  switch (kind) {
    case 'claude': {
      const tokens = placeholderTokens('claude', credential, nowMs);
      return { ...bearer(tokens), refresh_token: tokens.refreshToken, scope: claudeScopes.join(' ') };
    }
    case 'chatgpt': {
      const tokens = placeholderTokens('chatgpt', credential, nowMs);
      return { ...bearer(tokens), refresh_token: tokens.refreshToken, id_token: tokens.idToken };
    }
    case 'google':
      // Google keeps a refresh token as it is, and says nothing of it.
      return { ...bearer(placeholderTokens('google', credential, nowMs)), scope: googleScopes.join(' ') };
    case 'google-tokeninfo':
      return tokenInfo(placeholderTokens('google', credential, nowMs), nowMs);
    case 'chatgpt-accounts':
      return chatgptAccounts;
    case 'generic': {
      const tokens = placeholderTokens('generic', credential, nowMs);
      return { ...bearer(tokens), refresh_token: tokens.refreshToken };
    }
  }
}

function bearer({ accessToken, expiresInSeconds }: PlaceholderTokens): object {
  return { token_type: 'Bearer', access_token: accessToken, expires_in: expiresInSeconds };
}

/** Google gives its numbers as text. */
function tokenInfo({ expiresInSeconds }: PlaceholderTokens, nowMs: number): object {
  return {
    azp: 'sallyport',
    aud: 'sallyport',
    scope: googleScopes.join(' '),
    exp: String(Math.floor(nowMs / 1000) + expiresInSeconds),
    expires_in: String(expiresInSeconds),
    access_type: 'offline',
  };
}

/** Codex wants its own account among them, which has a placeholder for a name: the real list would not have it. */
const chatgptAccounts = {
  accounts: [
    {
      id: placeholderAccount,
      name: null,
      structure: 'personal',
      plan_type: 'plus',
      workspace_backend_origin: 'NO_CONSTRAINT',
      account_routing_override: 'NO_CONSTRAINT',
    },
  ],
  account_ordering: [placeholderAccount],
  default_account_id: placeholderAccount,
};
