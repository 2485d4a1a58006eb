// Placeholders in the shape of a login: what agents keep in their files and get from a token endpoint. They have the parts
// that clients read before they send anything (prefixes, the claims of a JWT), and the words of `placeholderFor` in every
// token. Nothing of the real login is in them: no account, no address, no plan.
import { placeholderFor } from './placeholder.ts';

/** Whose client reads them. */
export type TokenShape = 'claude' | 'chatgpt' | 'google' | 'copilot' | 'generic';

export interface PlaceholderTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Only where clients read one. */
  readonly idToken: string | null;
  readonly expiresInSeconds: number;
}

/** As good as for ever: a client that asks again gets the same, and the gateway refreshes the real one on its own. */
const lifeSeconds = 24 * 60 * 60;

/** In the form of the real ones, and nobody's. Without the words: clients show it to hosts that get no credential. */
export const placeholderAccount = '00000000-0000-4000-8000-000000000000';

/** `.invalid` is nobody's (RFC 2606). */
export const placeholderAddress = 'sandbox@sallyport.invalid';

/** What talking to a model takes: with more, Claude asks for profiles and connectors that no sandbox is given. */
export const claudeScopes: readonly string[] = ['user:inference'];

export const googleScopes: readonly string[] = ['https://www.googleapis.com/auth/cloud-platform'];

export function placeholderTokens(shape: TokenShape, credential: string, nowMs: number): PlaceholderTokens {
  const [access, refresh] = prefixes[shape];
  const jwt = shape === 'chatgpt' ? chatgptJwt(credential, nowMs) : null;
  return {
    accessToken: jwt ?? placeholderFor(credential, access),
    refreshToken: placeholderFor(credential, refresh),
    idToken: jwt,
    expiresInSeconds: lifeSeconds,
  };
}

const prefixes: Readonly<Record<TokenShape, readonly [access: string, refresh: string]>> = {
  claude: ['sk-ant-oat01-', 'sk-ant-ort01-'],
  chatgpt: ['', 'rt_'],
  google: ['ya29.', '1//'],
  // A token of GitHub itself, used for both.
  copilot: ['gho_', 'gho_'],
  generic: ['access-', 'refresh-'],
};

/** Clients read it without looking at the signature, which is where the words are. The plan is the smallest with Codex. */
function chatgptJwt(credential: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const claims = {
    iss: 'https://auth.openai.com',
    sub: 'sandbox',
    iat: seconds,
    exp: seconds + lifeSeconds,
    email: placeholderAddress,
    'https://api.openai.com/auth': {
      chatgpt_account_id: placeholderAccount,
      chatgpt_user_id: 'sandbox',
      user_id: 'sandbox',
      chatgpt_plan_type: 'plus',
    },
    'https://api.openai.com/profile': { email: placeholderAddress, email_verified: true },
  };
  return `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}.${placeholderFor(credential)}`;
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
