// Token endpoints as sandboxes see them: an agent that finds its login expired asks for a new one, and gets placeholders of
// the right shape from here. Nothing is forwarded and no real token is in sight. Only a placeholder is ever exchanged: a
// login that is begun in a sandbox would put real tokens there, so it is refused.
import { placeholderSigns } from '../../../kit/text/placeholder.ts';
import {
  claudeScopes,
  googleScopes,
  type PlaceholderTokens,
  placeholderAccount,
  placeholderTokens,
} from '../../../kit/text/placeholder-tokens.ts';
import { asciiWord } from '../../../kit/text/unseen.ts';
import { fieldsToSend } from '../../../path/enrich.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { OwnAnswer } from '../../../path/exchange/outgoing-request.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import { payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { toGiveRight } from '../../../path/sandbox.ts';
import type { CredentialSpec, TokenAnswer, TokenEndpoint } from '../../../policy/compiled.ts';

/** A request for tokens has a few hundred bytes; one with an assertion in it some thousand. */
const maxBodyBytes = 64 * 1024;

export class SandboxTokenEndpoint {
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** What the client gets in place of an answer of `endpoint`. Throws a Refusal for all but a placeholder's renewal. */
  async answer(flow: Authorized, spec: CredentialSpec, endpoint: TokenEndpoint): Promise<OwnAnswer> {
    refuseOthers(flow, spec);
    const kind = endpoint.answers;
    refuseMethod(flow, kind);
    const body = await bodyOf(flow);
    if (kind === 'google-tokeninfo') refuseStranger(flow, spec, shownTokens(flow, body));
    else if (kind !== 'chatgpt-accounts') refuseOtherGrants(flow, spec, body);
    const headers = HeaderList.from([
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
    ]);
    return { status: 200, headers, body: Buffer.from(JSON.stringify(madeAnswer(kind, spec.name, this.#now()))) };
  }
}

function refuseOthers({ sandbox }: Authorized, { name }: CredentialSpec): void {
  if (sandbox.credentials === null || sandbox.credentials.includes(name)) return;
  throw new Refusal('token.login-outside', `${sandbox.id} is not registered for the credential ${name}`, {
    rule: `credentials.${name}`,
    hint: `To allow it, ${toGiveRight(sandbox, 'credential', name)}, beside those it has.`,
  });
}

function refuseMethod({ canonical }: Authorized, kind: TokenAnswer): void {
  const { method, host, path } = canonical;
  const allowed = kind === 'chatgpt-accounts' ? ['GET'] : kind === 'google-tokeninfo' ? ['GET', 'POST'] : ['POST'];
  if (allowed.includes(method)) return;
  throw new Refusal(
    'method.not-allowed',
    `${host}${path} is answered by the gateway, for ${allowed.join(' and ')} only`,
    {
      hint: `Send ${allowed.join(' or ')}.`,
    },
  );
}

async function bodyOf(flow: Authorized): Promise<TokenRequest> {
  const exchange = payloadExchange(flow);
  const bytes = await readWholeBody(exchange, maxBodyBytes);
  exchange.onAbandoned = null;
  if (bytes === null) {
    throw new Refusal('limit.body-size', `a request for tokens has more than ${maxBodyBytes} bytes`, {
      hint: 'Send only the request for a token: no client of this service sends that much.',
    });
  }
  const found = tokenRequestIn(bytes, fieldsToSend(flow));
  if (found !== null) return found;
  throw new Refusal('token.malformed', 'the request for tokens is neither JSON nor a form', {
    hint: 'Send grant_type and refresh_token as JSON or as application/x-www-form-urlencoded, uncompressed.',
  });
}

function refuseOtherGrants(flow: Authorized, spec: CredentialSpec, body: TokenRequest): void {
  const grant = body.get('grant_type');
  if (grant !== 'refresh_token') {
    const asked = grant === undefined ? 'something else' : `a new login (grant_type ${asciiWord(grant)})`;
    throw loginOutside(flow, spec, `asks for ${asked}, and only a login that is there is renewed here`);
  }
  refuseStranger(flow, spec, [body.get('refresh_token') ?? '']);
}

/** A token that is no placeholder of this credential is none of ours: it is neither exchanged nor told anything about. */
function refuseStranger(flow: Authorized, spec: CredentialSpec, tokens: readonly string[]): void {
  const signs = placeholderSigns(spec.name);
  const known = (token: string): boolean => signs.some((sign) => token.includes(sign));
  if (tokens.length > 0 && tokens.every(known)) return;
  throw loginOutside(flow, spec, 'shows a token that is not the placeholder of this sandbox');
}

/** Where Google's clients put the token that they ask about. */
function shownTokens(flow: Authorized, body: TokenRequest): string[] {
  const query = new URLSearchParams(flow.canonical.query ?? '');
  const named = ['access_token', 'id_token'].flatMap((name) => [...query.getAll(name), body.get(name) ?? []].flat());
  return [...fieldsToSend(flow).getAll('authorization'), ...named];
}

function loginOutside({ canonical }: Authorized, spec: CredentialSpec, what: string): Refusal {
  return new Refusal('token.login-outside', `${canonical.method} ${canonical.host}${canonical.path} ${what}`, {
    rule: `credentials.${spec.name}`,
    hint: 'Log in with this tool outside the sandbox, on the machine of the gateway. The gateway renews that login and adds it to the requests of the sandbox. Inside, use the login file that the sandbox was given.',
  });
}

// What a token endpoint says to a sandbox, in the words of each provider. Made of placeholders alone: the same for every
// sandbox and every login, so that nothing of the real one can be in it.
function madeAnswer(kind: TokenAnswer, credential: string, nowMs: number): object {
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

// A request for tokens as clients write it: a form (RFC 6749 section 6) or JSON with the same names. Reads names and texts
// and nothing else; what it cannot read it does not guess.
/** Members that are text, each once. */
type TokenRequest = ReadonlyMap<string, string>;

/** Null: not understood. An empty body asks for nothing, and is understood. */
function tokenRequestIn(body: Buffer, headers: HeaderList): TokenRequest | null {
  if (body.length === 0) return new Map();
  const coding = headers.get('content-encoding');
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') return null;
  const type = (headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  const text = body.toString('utf8');
  if (type === 'application/json' || type.endsWith('+json')) return fromJson(text);
  if (type === 'application/x-www-form-urlencoded') return fromForm(text);
  return null;
}

function fromJson(text: string): TokenRequest | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const members = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return new Map(members);
}

/** A name that comes twice could mean either (RFC 6749 section 3.2 forbids it). */
function fromForm(text: string): TokenRequest | null {
  const pairs = [...new URLSearchParams(text)];
  const members = new Map(pairs);
  return members.size === pairs.length ? members : null;
}
