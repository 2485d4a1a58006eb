// Which request of git or git-lfs this is, on a host that serves git, and whether the repository is the sandbox's. What
// only looks like git is refused: another server might take it for the real thing. // Guards: threats.md T8

import { canonicalRepository, coversRepository } from '../../../kit/text/repository-name.ts';
import type { CanonicalRequest, GitRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { type Recognised, recognise } from '../../../protocols/git/smart-http.ts';

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
  const found = recognise(canonical.method, canonical.path, canonical.query);
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
    hint: `Its repositories: ${sandbox.repos.join(', ') || 'none'}. To allow it, register the sandbox with "repos": ["${repository}"].`,
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
