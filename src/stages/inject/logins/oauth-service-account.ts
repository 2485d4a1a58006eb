// Access tokens of a Google service account: a JWT signed with the account's key is exchanged for one (RFC 7523). The key
// file says where to ask, and is believed only as far as Google's own hosts. No part of the key ever reaches an error.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { reveal, Secret } from '../../../path/secret.ts';
import type { ServiceAccountSpec } from '../../../policy/compiled.ts';
import { type SecretSource, SourceError } from '../sources/secret-source.ts';
import type { Login } from './login-keep.ts';
import type { CallTokenEndpoint, TokenAddress } from './oauth-call.ts';
import { askFor, type TokenGrant } from './oauth-grant.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that Google takes. */
const validSeconds = 3600;
const minimumBits = 2048;
const usualEndpoint = 'https://oauth2.googleapis.com/token';

interface AccountKey {
  readonly email: string;
  readonly keyId: string | null;
  readonly key: KeyObject;
  readonly tokenUri: string;
  readonly address: TokenAddress;
}

export class ServiceAccountGrant implements TokenGrant {
  readonly host = 'oauth2.googleapis.com';
  readonly needsRefreshToken = false;
  readonly #name: string;
  readonly #spec: Pick<ServiceAccountSpec, 'scopes' | 'subject'>;
  readonly #key: SecretSource;
  readonly #call: CallTokenEndpoint;
  readonly #note: (secret: Secret) => void;

  /** `key`: the text of the key file. */
  constructor(
    name: string,
    spec: Pick<ServiceAccountSpec, 'scopes' | 'subject'>,
    key: SecretSource,
    call: CallTokenEndpoint,
    note: (secret: Secret) => void,
  ) {
    this.#name = name;
    this.#spec = spec;
    this.#key = key;
    this.#call = call;
    this.#note = note;
  }

  /** The key is read anew each time, so that a new one takes hold at once. */
  async ask(login: Login, nowMs: number): Promise<Login> {
    const text = await this.#key.current(null);
    if (text === null) throw new SourceError('the key of the service account is not set');
    const account = readAccount(reveal(text), (pem) => this.#note(new Secret(`${this.#name} private key`, pem)));
    const assertion = await this.#sign(account, Math.floor(nowMs / 1000));
    const client = {
      address: account.address,
      body: 'form',
      clientId: null,
      clientSecret: null,
      clientAuth: 'none',
      parameters: () => [['assertion', assertion] as const],
    } as const;
    const answered = await askFor(
      this.#name,
      client,
      this.#call,
      login,
      nowMs,
      (server, whoAsks, auth, { additionalParameters, ...options }) =>
        oauth.genericTokenEndpointRequest(server, whoAsks, auth, grantType, additionalParameters, options),
    );
    return { ...answered, refresh: null };
  }

  #sign({ email, keyId, key, tokenUri }: AccountKey, nowSeconds: number): Promise<string> {
    const { scopes, subject } = this.#spec;
    const claims = { scope: scopes.join(' '), ...(subject === null ? {} : { sub: subject }) };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === null ? {} : { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUri)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + validSeconds)
      .sign(key);
  }
}

function readAccount(text: string, notePem: (pem: string) => void): AccountKey {
  let members: unknown;
  try {
    members = JSON.parse(text);
  } catch {
    throw badKey('is not JSON');
  }
  if (typeof members !== 'object' || members === null) throw badKey('is not a JSON object');
  const found = members as Readonly<Record<string, unknown>>;
  if (found.type !== 'service_account') throw badKey('is of another type than "service_account"');
  const { client_email: email, private_key: pem, private_key_id: keyId, token_uri: tokenUri = usualEndpoint } = found;
  if (typeof email !== 'string' || typeof pem !== 'string' || typeof tokenUri !== 'string') {
    throw badKey('has no client_email, private_key or token_uri');
  }
  notePem(pem);
  const address = addressOf(tokenUri);
  return { email, keyId: typeof keyId === 'string' ? keyId : null, key: readKey(pem), tokenUri, address };
}

/** Guards: a key file that has its proofs sent to somebody else. */
function addressOf(tokenUri: string): TokenAddress {
  const url = URL.canParse(tokenUri) ? new URL(tokenUri) : null;
  const isGoogles = url !== null && /^(?:[a-z0-9-]+\.)+googleapis\.com$/.test(url.hostname);
  if (url === null || !isGoogles || url.protocol !== 'https:' || url.port !== '' || url.username !== '') {
    throw badKey(`has a token_uri that is not Google's (${usualEndpoint})`);
  }
  return { host: url.hostname, port: 443, target: `${url.pathname}${url.search}` };
}

function readKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // Not as the cause: what a parser says of a key may quote from it.
    throw badKey('has a private_key that cannot be read');
  }
  if (key.asymmetricKeyType !== 'rsa') throw badKey('has a private_key that is not RSA');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minimumBits) throw badKey(`has a private_key of ${bits} bits, fewer than ${minimumBits}`);
  return key;
}

function badKey(what: string): SourceError {
  return new SourceError(`the key of the service account ${what}: give the JSON file that Google made for it`);
}
