// Tokens of registries of images (the distribution specification): asked for with the login, for one repository and what is done
// there, kept until they end. The sandbox is never shown the challenge, so its client asks for nothing; no token gets there.
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import { reveal, Secret } from '../../../path/secret.ts';
import { SourceError } from './secret-source.ts';

export interface RegistryCall {
  readonly host: string;
  readonly method: 'GET';
  readonly outgoing: OutgoingRequest;
  readonly body: null;
}

export interface RegistryPorts {
  /** The guarded way out. Throws when there was no whole answer. */
  readonly call: (
    call: RegistryCall,
  ) => Promise<{ readonly status: number; readonly headers: HeaderList; readonly body: Buffer }>;
}

/** What of a request says which token it needs. */
export interface ImageAsker {
  readonly canonical: { readonly method: string; readonly path: string };
}

interface Challenge {
  readonly realm: URL;
  readonly service: string | null;
}

interface Kept {
  readonly secret: Secret;
  readonly endsAtMs: number;
}

const maxTokens = 256;
/** Where the answer does not say (the specification's own number). */
const usualSeconds = 60;
const unusedAtEndMs = 10_000;
/** How the registry asks for logins hardly ever changes. */
const challengeMs = 15 * 60_000;

export class ImageTokens {
  readonly #name: string;
  readonly #host: string;
  readonly #ports: RegistryPorts;
  readonly #note: (secret: Secret) => void;
  readonly #tokens = new Map<string, Kept>();
  readonly #underway = new Map<string, Promise<Secret>>();
  #challenge: { readonly found: Challenge | null; readonly atMs: number } | null = null;

  constructor(name: string, host: string, ports: RegistryPorts, note: (secret: Secret) => void) {
    this.#name = name;
    this.#host = host;
    this.#ports = ports;
    this.#note = note;
  }

  forget(): void {
    this.#tokens.clear();
    this.#challenge = null;
  }

  /** `pair` itself where the registry takes it as it is. */
  async tokenFor(pair: Secret, { method, path }: ImageAsker['canonical']): Promise<Secret> {
    const challenge = await this.#challenged();
    if (challenge === null) return pair;
    const scope = scopeOf(method, path);
    const key = `${scope} ${reveal(pair)}`;
    const kept = this.#tokens.get(key);
    if (kept !== undefined && Date.now() < kept.endsAtMs) return kept.secret;
    let asked = this.#underway.get(key);
    if (asked === undefined) {
      asked = this.#ask(challenge, pair, scope, key).finally(() => this.#underway.delete(key));
      this.#underway.set(key, asked);
    }
    return asked;
  }

  async #challenged(): Promise<Challenge | null> {
    if (this.#challenge !== null && Date.now() - this.#challenge.atMs < challengeMs) return this.#challenge.found;
    const outgoing = new OutgoingRequest('/v2/', HeaderList.from([['User-Agent', 'sallyport']]));
    const { headers } = await this.#ports.call({ host: this.#host, method: 'GET', outgoing, body: null });
    const found = readChallenge(headers.getAll('www-authenticate'), this.#host);
    this.#challenge = { found, atMs: Date.now() };
    return found;
  }

  async #ask({ realm, service }: Challenge, pair: Secret, scope: string, key: string): Promise<Secret> {
    const query = new URLSearchParams(realm.search);
    if (service !== null) query.set('service', service);
    if (scope !== '') query.set('scope', scope);
    const target = `${realm.pathname}${query.size === 0 ? '' : `?${query}`}`;
    const headers = HeaderList.from([
      ['User-Agent', 'sallyport'],
      ['Authorization', `Basic ${reveal(pair)}`],
    ]);
    const outgoing = new OutgoingRequest(target, headers);
    const { status, body } = await this.#ports.call({ host: realm.hostname, method: 'GET', outgoing, body: null });
    if (status !== 200) throw new SourceError(`${realm.hostname} gave no token for ${this.#host}: status ${status}`);
    const { token, seconds } = readToken(body, realm.hostname);
    const endsAtMs = Date.now() + seconds * 1000 - unusedAtEndMs;
    const secret = new Secret(this.#name, token, { login: true, expiresAtMs: endsAtMs });
    this.#note(secret);
    if (this.#tokens.size >= maxTokens) this.#tokens.clear();
    this.#tokens.set(key, { secret, endsAtMs });
    return secret;
  }
}

/** What a request needs, as clients ask for it: nothing for the registry itself, else one repository, to read or to write too. */
export function scopeOf(method: string, path: string): string {
  const name = /^\/v2\/(.+?)\/(?:manifests|blobs|tags|referrers)(?:\/|$)/.exec(path)?.[1];
  if (name === undefined) return path === '/v2/_catalog' ? 'registry:catalog:*' : '';
  return `repository:${name}:${method === 'GET' || method === 'HEAD' ? 'pull' : 'pull,push'}`;
}

/** Null: it takes the login as it is, or asks for none. */
export function readChallenge(fields: readonly string[], host: string): Challenge | null {
  const field = fields.find((one) => /^bearer\s/i.test(one));
  if (field === undefined) return null;
  const parameter = (name: string): string | null =>
    new RegExp(`[\\s,]${name}="([^"]*)"`, 'i').exec(field)?.[1] ?? null;
  const realm = parameter('realm');
  if (realm === null || !URL.canParse(realm)) throw new SourceError(`${host} asks for a token and does not say where`);
  const url = new URL(realm);
  // Guards: threats.md T114. The login goes there.
  const isOurs = url.protocol === 'https:' && url.port === '' && url.username === '' && isNear(url.hostname, host);
  if (!isOurs) throw new SourceError(`${host} wants its login sent to ${url.hostname}, which is not of its domain`);
  return { realm: url, service: parameter('service') };
}

/** The same host, the domain it is in, or a neighbour in that domain. */
function isNear(realm: string, host: string): boolean {
  if (realm === host || host.endsWith(`.${realm}`)) return true;
  const domain = host.slice(host.indexOf('.') + 1);
  return domain.includes('.') && (realm === domain || realm.endsWith(`.${domain}`));
}

function readToken(body: Buffer, host: string): { token: string; seconds: number } {
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString('utf8'));
  } catch {
    throw new SourceError(`${host} answered with something else than a token`);
  }
  const { token, access_token: other, expires_in: seconds } = Object(answer) as Record<string, unknown>;
  const found = typeof token === 'string' && token !== '' ? token : other;
  if (typeof found !== 'string' || !/^[\x21-\x7e]+$/.test(found)) {
    throw new SourceError(`${host} answered with something else than a token`);
  }
  return {
    token: found,
    seconds: typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, 86_400) : usualSeconds,
  };
}
