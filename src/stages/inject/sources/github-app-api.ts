// The three calls to GitHub that an App needs: find its installation, mint a token, revoke one. Builds them with the
// proof or token in them, and believes an answer only when it grants no more than was asked for. What GitHub says in
// an error goes to the operator, masked; proof, token and body never do.
import * as z from 'zod';
import { maskText } from '../../../kit/mask-text.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import { reveal, Secret } from '../../../path/secret.ts';
import type { AppPermissions, GithubAppSpec } from '../../../policy/compiled.ts';
import { cleanValue, SourceError } from './secret-source.ts';

/** One call of the gateway's own, complete with its credential. */
export interface AppCall {
  readonly host: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly outgoing: OutgoingRequest;
  readonly body: Buffer | null;
}

export interface AppAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** The guarded way out. Throws when there was no whole answer. */
export type CallGithub = (call: AppCall) => Promise<AppAnswer>;

export interface Installation {
  readonly id: number;
  /** What the App was granted where it is installed; null: GitHub did not say. */
  readonly permissions: AppPermissions | null;
}

export interface AppToken {
  readonly secret: Secret;
  readonly expiresAtMs: number;
}

/** The App is not there for this repository; for others of its owner it may be. */
export class NotInstalled extends SourceError {}

const installationAnswer = z.object({
  id: z.int().positive(),
  account: z.object({ login: z.string() }),
  permissions: z.record(z.string(), z.string()).optional(),
});
const tokenAnswer = z.object({
  token: z.string().min(1),
  expires_at: z.string(),
  permissions: z.record(z.string(), z.string()).optional(),
  repositories: z.array(z.object({ full_name: z.string() })).optional(),
});
const levels = ['read', 'write', 'admin'];

export class GithubAppApi {
  readonly #name: string;
  readonly #spec: GithubAppSpec;
  readonly #call: CallGithub;

  constructor(name: string, spec: GithubAppSpec, call: CallGithub) {
    this.#name = name;
    this.#spec = spec;
    this.#call = call;
  }

  /** The installation for a repository, canonical `owner/name`. It must be that owner's. */
  async findInstallation(proof: Secret, repository: string): Promise<Installation> {
    const { installation: fixed } = this.#spec;
    const owner = ownerOf(repository);
    const path = fixed === null ? `/repos/${repository}/installation` : `/app/installations/${fixed}`;
    const answer = await this.#ask('GET', path, proof, null);
    if (answer.status === 404) {
      throw new NotInstalled(
        fixed === null
          ? `the GitHub App is not installed on ${repository}: install it there, or take the repository from the sandbox`
          : `the GitHub App has no installation ${fixed}: correct \`installation\`, or leave it out`,
      );
    }
    if (answer.status >= 300 && answer.status < 400) {
      throw new NotInstalled(`${repository} has another name now: register the sandbox with the new one`);
    }
    if (answer.status !== 200) throw this.#refused(`the installation of the App for ${repository}`, answer);
    const found = this.#read(installationAnswer, answer);
    // Repositories are named to GitHub without their owner: of another account they would be other repositories.
    if (found.account.login.toLowerCase() !== owner) {
      throw new NotInstalled(
        `installation ${found.id} of the GitHub App belongs to another account than ${owner}: leave \`installation\` out, so that it is found by repository`,
      );
    }
    return { id: found.id, permissions: found.permissions ?? null };
  }

  /** `names` without the owner; null: every repository of the installation. */
  async mint(
    proof: Secret,
    { id, permissions: granted }: Installation,
    owner: string,
    names: readonly string[] | null,
  ): Promise<AppToken> {
    const permissions = this.#spec.permissions ?? commonTo(this.#spec.usable, granted);
    const requested = { permissions, ...(names === null ? {} : { repositories: names }) };
    const answer = await this.#ask('POST', `/app/installations/${id}/access_tokens`, proof, requested);
    const whatFor = `a token for ${names === null ? `${owner}/*` : names.map((one) => `${owner}/${one}`).join(', ')}`;
    if (answer.status !== 201) throw this.#refused(whatFor, answer);
    const found = this.#read(tokenAnswer, answer);
    const secret = new Secret(this.#name, cleanValue(found.token, 'the token of GitHub'));
    const excess = excessOf(found, permissions, owner, names) ?? timeProblem(found.expires_at);
    if (excess !== null) {
      await this.revoke(secret).catch(() => {});
      throw new SourceError(`${this.#spec.api.host} answered with ${excess}: the token was not used`);
    }
    return { secret, expiresAtMs: Date.parse(found.expires_at) };
  }

  async revoke(token: Secret): Promise<void> {
    const answer = await this.#ask('DELETE', '/installation/token', token, null);
    // 401: it is no longer one.
    if (answer.status !== 204 && answer.status !== 401) throw this.#refused('the revocation of a token', answer);
  }

  async #ask(method: AppCall['method'], path: string, credential: Secret, json: object | null): Promise<AppAnswer> {
    const { host, prefix } = this.#spec.api;
    const body = json === null ? null : Buffer.from(JSON.stringify(json));
    const headers = HeaderList.from([
      ['Accept', 'application/vnd.github+json'],
      ['X-GitHub-Api-Version', '2022-11-28'],
      ['User-Agent', 'sallyport'],
      ['Authorization', `Bearer ${reveal(credential)}`],
    ]);
    if (body !== null) headers.append('Content-Type', 'application/json').append('Content-Length', `${body.length}`);
    try {
      return await this.#call({ host, method, outgoing: new OutgoingRequest(`${prefix}${path}`, headers), body });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown failure';
      throw new SourceError(`${host} could not be asked: ${why}`, { cause });
    }
  }

  #refused(what: string, { status, body }: AppAnswer): SourceError {
    const act =
      status === 401
        ? ' (check the id of the App, its private key and the clock of this machine)'
        : status === 422
          ? ' (the App must be installed on all of these repositories and have the permissions that are asked for)'
          : '';
    return new SourceError(`${this.#spec.api.host} refused ${what}: status ${status}${wordsOf(body)}${act}`);
  }

  #read<Out>(schema: z.ZodType<Out>, { body }: AppAnswer): Out {
    const read = schema.safeParse(jsonOf(body));
    if (read.success) return read.data;
    throw new SourceError(`${this.#spec.api.host} answered a call of the GitHub App in a form that is not known`);
  }
}

export function ownerOf(repository: string): string {
  return repository.slice(0, repository.indexOf('/'));
}

/** What is wanted of what was granted: an App that was given less than the defaults is still of use. */
function commonTo(wanted: AppPermissions, granted: AppPermissions | null): AppPermissions {
  if (granted === null) return wanted;
  const common: Record<string, string> = {};
  for (const [name, level] of Object.entries(wanted)) {
    const given = granted[name];
    if (given !== undefined && levels.includes(given))
      common[name] = levels.indexOf(given) < levels.indexOf(level) ? given : level;
  }
  return common;
}

/** What a token can do beyond what was asked for; null: nothing. */
function excessOf(
  found: z.output<typeof tokenAnswer>,
  asked: AppPermissions,
  owner: string,
  names: readonly string[] | null,
): string | null {
  for (const [name, level] of Object.entries(found.permissions ?? {})) {
    // Every token may read the metadata of its repositories; GitHub adds that by itself.
    const limit = asked[name] ?? (name === 'metadata' ? 'read' : null);
    if (limit === null || levels.indexOf(level) > levels.indexOf(limit))
      return 'more permissions than it was asked for';
  }
  if (names === null) return null;
  if (found.repositories === undefined) return 'a token that is not limited to repositories';
  const expected = new Set(names.map((name) => `${owner}/${name}`));
  const isMore = found.repositories.some(({ full_name }) => !expected.has(full_name.toLowerCase()));
  return isMore ? 'a token for other repositories than it was asked for' : null;
}

function timeProblem(expiresAt: string): string | null {
  return Number.isNaN(Date.parse(expiresAt)) ? 'a time of expiry that cannot be read' : null;
}

function wordsOf(body: Buffer): string {
  const read = z.object({ message: z.string() }).safeParse(jsonOf(body));
  if (!read.success) return '';
  const words = maskText(read.data.message.replace(/[^\x20-\x7e]/g, ' ')).replace(/[A-Za-z0-9_.+/=-]{40,}/g, '***');
  return `, "${words.slice(0, 300)}"`;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
