// Which request of git or git-lfs this is, on a host that serves git, and whether the repository is the sandbox's. What
// only looks like git is refused: another server might take it for the real thing. // Guards: threats.md T8
import { canonicalRepository, coversRepository } from '../../../kit/text/repository-name.ts';
import type { CanonicalRequest, GitOperation, GitRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { type Sandbox, toGiveRight } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';

export interface FoundGit {
  readonly request: GitRequest;
  /** Not the sandbox's own: readable because `git.public_fetch` says so, and never with a credential. */
  readonly isPublicFetch: boolean;
}

/** Null: plain web. `methods` are all that the request may turn into (method override fields). */
export function findGitRequest(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  methods: readonly string[],
): FoundGit | null {
  const found = recogniseGit(canonical.method, canonical.path, canonical.query);
  if (found.kind === 'other') return null;
  refuseWhatGitNeverSends(found, canonical, methods);
  const [owner, name] = found.repository.split('/');
  const repository = canonicalRepository(owner!, name!);
  const request: GitRequest = {
    repository: repository ?? found.repository,
    rawRepositoryPath: canonical.rawPath.split('/').slice(0, 3).join('/'),
    operation: found.operation,
    ticket: found.operation === 'lfs-object' ? canonical.path.slice(canonical.path.lastIndexOf('/') + 1) : null,
  };
  if (repository !== null && coversRepository(sandbox.repos, repository)) return { request, isPublicFetch: false };
  if (policy.publicFetch && repository !== null && isFetch(request)) return { request, isPublicFetch: true };
  throw notItsRepository(request.repository, sandbox);
}

export function notItsRepository(repository: string, sandbox: Sandbox): Refusal {
  return new Refusal('repo.not-allowed', `${repository} is not among the repositories of ${sandbox.id}`, {
    rule: 'repos of the registration',
    hint: `Its repositories: ${sandbox.repos.join(', ') || 'none'}. To allow it, ${toGiveRight(sandbox, 'repo', repository)}.`,
  });
}

/** A push to a host that nobody marked would pass as plain web, unjudged. */
export function refusePushToUnmarkedHost(canonical: CanonicalRequest): void {
  const asked = `${canonical.path}?${canonical.query ?? ''}`.toLowerCase();
  if (!looseDecode(asked).includes('git-receive-pack')) return;
  throw new Refusal('git.unmarked-host', `pushes to ${canonical.host} are refused: it is not marked as a git host`, {
    rule: 'built-in: a push is judged or refused',
    hint: `The operator of the gateway can add git: {hosts: [${canonical.host}]} to the configuration; pushes there are then judged like any other.`,
  });
}

function isFetch({ operation }: GitRequest): boolean {
  return operation === 'advertise-upload' || operation === 'upload-pack';
}

function refuseWhatGitNeverSends(
  found: Exclude<Recognised, { kind: 'other' }>,
  canonical: CanonicalRequest,
  methods: readonly string[],
): asserts found is Extract<Recognised, { kind: 'git' }> {
  const { method, path, rawPath, host } = canonical;
  if (found.kind === 'dumb-http') {
    throw new Refusal('git.dumb-http', `${path} uses git's old "dumb" HTTP protocol, which cannot be judged`, {
      rule: 'built-in: smart HTTP only',
      hint: 'Use git itself (2.x speaks smart HTTP), or the web or API address of the file.',
    });
  }
  const isPlain = found.kind === 'git' && rawPath === path && methods.length === 1;
  if (isPlain) return;
  throw new Refusal(
    'git.not-understood',
    `${method} ${rawPath} looks like git on ${host}, but git never sends it in this form`,
    {
      rule: 'built-in: one spelling of a git service',
      hint: 'Use an unmodified git or git-lfs client over https.',
    },
  );
}

function looseDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

// Which git operation a request is, from its method, path and query alone: the exact forms that git and git-lfs send.
// Anything that only looks like one is told apart from plain web, so that it can be refused and is never served half-way:
// another server might read it as the real thing.
type Recognised =
  /** `repository` is `owner/repo` as it was written, without `.git`: not yet canonical. */
  | { readonly kind: 'git'; readonly repository: string; readonly operation: GitOperation }
  /** Files of a repository asked for one by one: nothing in it can be judged. */
  | { readonly kind: 'dumb-http'; readonly repository: string }
  /** Names a git service in a form that no git client sends. */
  | { readonly kind: 'odd-git' }
  | { readonly kind: 'other' };

/** Words that name a git service wherever they stand in a path, in any case. */
const gitWords = /(?:^|\/)(?:git-(?:upload|receive)-(?:pack|archive)|info\/(?:refs|lfs))(?:\/|$)/i;
const dumbPath = /^(?:HEAD|config|description|packed-refs|info(?:\/.*)?|objects(?:\/.*)?)$/i;
const doorTicket = /^info\/lfs\/door\/[\w-]{16,64}$/;
const lockId = /^info\/lfs\/locks\/[^/]+\/unlock$/;

const odd: Recognised = { kind: 'odd-git' };
const other: Recognised = { kind: 'other' };

/** `path` decoded and canonical, beginning with `/`; `query` raw, without `?`, null when there is none. */
export function recogniseGit(method: string, path: string, query: string | null): Recognised {
  const [, owner = '', name = '', ...segments] = path.split('/');
  const rest = segments.join('/');
  const hasSuffix = /\.git$/i.test(name);
  const bare = hasSuffix ? name.slice(0, -4) : name;
  const namesGit = gitWords.test(path);
  if (owner === '' || bare === '' || rest === '' || /\.git$/i.test(bare)) return namesGit ? odd : other;
  const repository = `${owner}/${bare}`;
  const operation = operationOf(method, rest, query);
  if (operation !== null) return { kind: 'git', repository, operation };
  if (rest === 'info/refs' && query === null && (method === 'GET' || method === 'HEAD')) {
    return { kind: 'dumb-http', repository };
  }
  if (namesGit) return odd;
  return hasSuffix || dumbPath.test(rest) ? { kind: 'dumb-http', repository } : other;
}

function operationOf(method: string, rest: string, query: string | null): GitOperation | null {
  if (method === 'GET') {
    if (rest === 'info/lfs/locks') return 'lfs-locks';
    if (doorTicket.test(rest) && query === null) return 'lfs-object';
    if (rest !== 'info/refs') return null;
    // The query exactly as git sends it: `service` twice could be read either way.
    if (query === 'service=git-upload-pack') return 'advertise-upload';
    return query === 'service=git-receive-pack' ? 'advertise-receive' : null;
  }
  if (query !== null) return null;
  if (doorTicket.test(rest) && (method === 'PUT' || method === 'POST')) return 'lfs-object';
  if (method !== 'POST') return null;
  if (lockId.test(rest)) return 'lfs-unlock';
  return posted.get(rest) ?? null;
}

const posted: ReadonlyMap<string, GitOperation> = new Map([
  ['git-upload-pack', 'upload-pack'],
  ['git-receive-pack', 'receive-pack'],
  ['info/lfs/objects/batch', 'lfs-batch'],
  ['info/lfs/locks', 'lfs-lock'],
  ['info/lfs/locks/verify', 'lfs-verify-locks'],
]);
