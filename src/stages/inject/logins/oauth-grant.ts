// The grants by which the gateway comes by an access token: a refresh token, or the client's own credentials. The protocol
// is oauth4webapi's; here is which client asks where, and what of the answer is kept. A token is taken only if it can
// stand in a header field, and nothing of an answer is ever in an error.
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { type AboutSecret, reveal, Secret } from '../../../path/secret.ts';
import { maxSecretBytes, type SecretSource, SourceError } from '../sources/secret-source.ts';
import type { Login } from './login-keep.ts';
import { askedFetch, type CallTokenEndpoint, type TokenAddress } from './oauth-call.ts';

/** How new tokens are come by. */
export interface TokenGrant {
  readonly host: string;
  /** Without a refresh token there is nothing to ask with. */
  readonly needsRefreshToken: boolean;
  /** Throws SourceError; a TokenRefused where the endpoint said no. */
  ask(login: Login, nowMs: number): Promise<Login>;
}

/** Who asks, and where. */
export interface TokenClient {
  readonly address: TokenAddress;
  readonly body: 'form' | 'json';
  readonly clientId: string | null;
  readonly clientSecret: SecretSource | null;
  readonly clientAuth: 'basic' | 'post' | 'none';
  /** More members of the request. */
  parameters(login: Login): readonly (readonly [name: string, value: string])[];
}

/** One that asks for less would have us ask all the time; one that says more is not to be believed. */
const minLifeSeconds = 10;
const maxLifeSeconds = 10 * 365 * 24 * 3600;
/** The year 9999: what is later cannot be written as a date. */
const farFutureMs = 253_370_764_800_000;

abstract class ClientGrant implements TokenGrant {
  abstract readonly needsRefreshToken: boolean;
  readonly #name: string;
  readonly #client: TokenClient;
  readonly #call: CallTokenEndpoint;

  constructor(name: string, client: TokenClient, call: CallTokenEndpoint) {
    this.#name = name;
    this.#client = client;
    this.#call = call;
  }

  get host(): string {
    return this.#client.address.host;
  }

  abstract ask(login: Login, nowMs: number): Promise<Login>;

  protected askFor(login: Login, nowMs: number, grant: AskGrant): Promise<Login> {
    return askFor(this.#name, this.#client, this.#call, login, nowMs, grant);
  }
}

export class RefreshGrant extends ClientGrant {
  readonly needsRefreshToken = true;

  async ask(login: Login, nowMs: number): Promise<Login> {
    const { refresh } = login;
    if (refresh === null) throw new SourceError('there is no refresh token');
    return this.askFor(login, nowMs, (server, client, auth, options) =>
      oauth.refreshTokenGrantRequest(server, client, auth, reveal(refresh), options),
    );
  }
}

export class ClientCredentialsGrant extends ClientGrant {
  readonly needsRefreshToken = false;

  async ask(login: Login, nowMs: number): Promise<Login> {
    const answered = await this.askFor(login, nowMs, (server, client, auth, { additionalParameters, ...options }) =>
      oauth.clientCredentialsGrantRequest(server, client, auth, additionalParameters, options),
    );
    // RFC 6749 section 4.4.3: there should be none, and there is no use for one.
    return { ...answered, refresh: null };
  }
}

type AskGrant = (
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  auth: oauth.ClientAuth,
  options: { additionalParameters: URLSearchParams; [oauth.customFetch]: FetchOption },
) => Promise<Response>;
type FetchOption = NonNullable<oauth.TokenEndpointRequestOptions[typeof oauth.customFetch]>;

/** Asks with one grant, and reads the answer. What was known of the login and is not in the answer stays. */
export async function askFor(
  name: string,
  client: TokenClient,
  call: CallTokenEndpoint,
  login: Login,
  nowMs: number,
  grant: AskGrant,
): Promise<Login> {
  const { address } = client;
  const { fetch, idToken } = askedFetch(address, client.body, call);
  const authority = address.port === 443 ? address.host : `${address.host}:${address.port}`;
  const server = { issuer: `https://${authority}`, token_endpoint: `https://${authority}${address.target}` };
  const clientId = login.clientId ?? client.clientId;
  // The library wants one for every client; one that has none does not say it (see noClient).
  const whoAsks = { client_id: clientId ?? 'none' };
  const auth = clientId === null ? noClient : await authOf(client);
  const additionalParameters = new URLSearchParams(Object.fromEntries(client.parameters(login)));
  let answer: oauth.TokenEndpointResponse;
  try {
    const response = await grant(server, whoAsks, auth, { additionalParameters, [oauth.customFetch]: fetch });
    answer = await oauth.processGenericTokenEndpointResponse(server, whoAsks, response);
  } catch (error) {
    if (error instanceof SourceError) throw error;
    // Not as the cause: the library's errors hold the body of the answer.
    throw new SourceError(`${address.host} answered with something that is no token`);
  }
  return loginFrom(name, address.host, answer, idToken(), login, nowMs);
}

const noClient: oauth.ClientAuth = () => {};

async function authOf({ clientAuth, clientSecret }: TokenClient): Promise<oauth.ClientAuth> {
  if (clientAuth === 'none') return oauth.None();
  const secret = await clientSecret?.current(null);
  if (secret === null || secret === undefined) throw new SourceError('the secret of the OAuth client is not set');
  return clientAuth === 'basic' ? oauth.ClientSecretBasic(reveal(secret)) : oauth.ClientSecretPost(reveal(secret));
}

function loginFrom(
  name: string,
  host: string,
  answer: oauth.TokenEndpointResponse,
  idToken: string | null,
  before: Login,
  nowMs: number,
): Login {
  const { expires_in: life, refresh_token: refresh, scope } = answer;
  if (answer.token_type !== 'bearer') throw new SourceError(`${host} gave a token of a kind that is not known here`);
  const about: AboutSecret = {
    login: true,
    fields: before.fields,
    expiresAtMs: endMs(life, answer.access_token, nowMs),
  };
  return {
    access: tokenOf(name, answer.access_token, `the access token of ${host}`, about),
    refresh: refresh === undefined ? before.refresh : refreshTokenOf(name, refresh, `the refresh token of ${host}`),
    idToken: idToken === null || !isToken(idToken) ? before.idToken : new Secret(`${name} id token`, idToken),
    fields: before.fields,
    scope: scope ?? before.scope,
    clientId: before.clientId,
  };
}

/** Null: nothing says when. Guards: a clock of ours that is ahead, by which every new token has ended already. */
function endMs(life: number | undefined, token: string, nowMs: number): number | null {
  const saidMs = life === undefined ? jwtEndMs(token) : nowMs + Math.min(life, maxLifeSeconds) * 1000;
  return saidMs === null ? null : Math.max(saidMs, nowMs + minLifeSeconds * 1000);
}

/** When a token that is a JWT says it ends; null: it does not say. */
export function jwtEndMs(token: string): number | null {
  try {
    const { exp } = decodeJwt(token);
    return exp === undefined ? null : Math.min(Math.max(exp, 0) * 1000, farFutureMs);
  } catch {
    return null;
  }
}

/** Throws SourceError for what cannot be a token. Guards: a line end in one, which would be a header field of its own. */
export function tokenOf(name: string, value: string, what: string, about: AboutSecret = {}): Secret {
  if (!isToken(value)) throw new SourceError(`${what} has characters in it that no token has, or is too long`);
  return new Secret(name, value, about);
}

export function refreshTokenOf(name: string, value: string, what: string): Secret {
  return tokenOf(`${name} refresh token`, value, what);
}

function isToken(value: string): boolean {
  return value.length <= maxSecretBytes && /^[\x21-\x7e]+$/.test(value);
}
