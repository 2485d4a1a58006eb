// One question to a token endpoint, over the gateway's guarded way out: the fetch that oauth4webapi is given. What comes
// back is believed only when it is a small JSON object with status 200; of an error only the OAuth code and the status go
// further, never a word of the body, which may hold tokens. Redirects are not followed.
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import { SourceError } from '../sources/secret-source.ts';

export interface TokenAddress {
  readonly host: string;
  readonly port: number;
  /** Origin-form: path and query. */
  readonly target: string;
}

/** One call of the gateway's own, complete with its credential. */
export interface TokenCall {
  readonly host: string;
  readonly method: 'POST';
  readonly outgoing: OutgoingRequest;
  readonly body: Buffer;
}

/**
 * The guarded way out. Throws when there was no whole answer, and must do so in the end: nobody here gives up before it,
 * because an answer that comes late may hold the only refresh token that is still good.
 */
export type CallTokenEndpoint = (call: TokenCall) => Promise<{ readonly status: number; readonly body: Buffer }>;

/** The endpoint said no. */
export class TokenRefused extends SourceError {
  readonly status: number;
  readonly code: string | null;

  constructor(host: string, status: number, code: string | null) {
    super(`${host} gave no token: ${code === null ? '' : `${code}, `}status ${status}`);
    this.status = status;
    this.code = code;
  }

  /** The refresh token is good for nothing any more: asking again cannot help. */
  get isFinal(): boolean {
    return this.status < 500 && this.code !== null && finalCodes.has(this.code);
  }
}

/** RFC 6749 section 5.2; the others are auth.openai.com's, which its own client takes for the end of a login. */
const finalCodes: ReadonlySet<string> = new Set([
  'invalid_grant',
  'refresh_token_expired',
  'refresh_token_reused',
  'refresh_token_invalidated',
]);

/** Tokens are a few KiB at most, an id_token with many groups a few more. */
const maxAnswerBytes = 256 * 1024;
/** Codes are words. Guards: an endpoint that repeats a token as its error, which has digits or capitals in it. */
const codeForm = /^[a-z][a-z_]{1,47}$/;

export interface AskedFetch {
  readonly fetch: (
    url: string,
    init: { readonly body?: unknown; readonly headers?: Record<string, string> },
  ) => Promise<Response>;
  /** The id_token of the answer: to be saved, never to be believed. */
  readonly idToken: () => string | null;
}

export function askedFetch(address: TokenAddress, form: 'form' | 'json', call: CallTokenEndpoint): AskedFetch {
  let idToken: string | null = null;
  return {
    idToken: () => idToken,
    fetch: async (_url, { body, headers = {} }) => {
      if (!(body instanceof URLSearchParams)) throw new Error('a token request without its parameters');
      const answer = await ask(call, requestTo(address, form, body, headers.authorization ?? null), address.host);
      const members = membersOf(answer, address.host);
      if (typeof members.id_token === 'string') idToken = members.id_token;
      // Nobody here relies on who it says the user is, and its keys are not at hand to check it.
      delete members.id_token;
      return new Response(JSON.stringify(members), { status: 200, headers: { 'content-type': 'application/json' } });
    },
  };
}

function requestTo(
  { host, port, target }: TokenAddress,
  form: 'form' | 'json',
  parameters: URLSearchParams,
  authorization: string | null,
): TokenCall {
  const text = form === 'json' ? JSON.stringify(Object.fromEntries(parameters)) : parameters.toString();
  const body = Buffer.from(text);
  const headers = HeaderList.from([
    ['Accept', 'application/json'],
    // Without it any coding would do (RFC 9110 section 12.5.3), and one that cannot be read is a token that is lost.
    ['Accept-Encoding', 'identity'],
    ['Content-Type', form === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'],
    ['Content-Length', `${body.length}`],
    ['User-Agent', 'sallyport'],
  ]);
  if (authorization !== null) headers.append('Authorization', authorization);
  const origin = port === 443 ? null : ({ scheme: 'https', host, port } as const);
  return { host, method: 'POST', outgoing: new OutgoingRequest(target, headers, { origin }), body };
}

async function ask(
  call: CallTokenEndpoint,
  request: TokenCall,
  host: string,
): Promise<{ status: number; body: Buffer }> {
  try {
    return await call(request);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown failure';
    throw new SourceError(`${host} could not be asked for a token: ${why}`, { cause });
  }
}

function membersOf({ status, body }: { status: number; body: Buffer }, host: string): Record<string, unknown> {
  const members = body.length <= maxAnswerBytes ? objectIn(body) : null;
  const code = members === null ? null : codeIn(members, status);
  // Some endpoints say no with status 200.
  if (status !== 200 || code !== null) throw new TokenRefused(host, status, code);
  if (members === null) throw new SourceError(`${host} answered with something that is no token`);
  for (const [name, value] of Object.entries(members))
    if (value === null || !isUsable(name, value)) delete members[name];
  members.token_type ??= 'bearer';
  return members;
}

/**
 * Members that an answer need not have are as good as absent when they are not what they should be (Twitch lists its scopes):
 * the library would throw the whole answer away for one, and with it the only refresh token that is still good.
 */
function isUsable(name: string, value: unknown): boolean {
  switch (name) {
    case 'scope':
      return typeof value === 'string' && value !== '';
    case 'refresh_token':
      return value !== '';
    case 'expires_in': {
      const seconds = typeof value === 'string' ? Number.parseFloat(value) : value;
      return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0;
    }
    default:
      return true;
  }
}

function objectIn(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isMap(value) ? value : null;
  } catch {
    return null;
  }
}

/** `{"error": "invalid_grant"}`, or auth.openai.com's `{"error": {"code": "refresh_token_reused"}}`. */
function codeIn({ error, code }: Record<string, unknown>, status: number): string | null {
  if (error === undefined || error === null) return status === 200 ? null : wordOf(code);
  return wordOf(error) ?? (isMap(error) ? (wordOf(error.code) ?? wordOf(error.type)) : null) ?? 'error';
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && codeForm.test(value) ? value : null;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
