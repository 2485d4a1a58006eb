// Holds GitHub's web and API tight until REST and GraphQL are judged by what they carry (those rules will take this
// file's place): a credential goes only to the sandbox's own repositories, and of writes only a short list passes.
// Never lets what it does not know carry a credential. // Guards: threats.md T8
import type { CanonicalRequest } from '../flow/flow.ts';
import { Refusal } from '../flow/refusal.ts';
import type { Sandbox } from '../flow/sandbox.ts';
import { canonicalRepository, coversRepository } from '../kit/repository-name.ts';
import { notItsRepository } from './git/git-request.ts';
import type { GithubPlace } from './github-place.ts';

// Writes under /repos/:owner/:repo whose worst effect is text that a person reads. Reviews can approve, merges and
// contents change branches: their bodies are not read here, so they are not on the list.
const harmlessWrites: ReadonlyMap<string, readonly RegExp[]> = new Map([
  [
    'POST',
    [
      /^issues$/,
      /^issues\/\d+\/(?:comments|labels)$/,
      /^pulls$/,
      /^pulls\/\d+\/comments$/,
      /^pulls\/\d+\/comments\/\d+\/replies$/,
    ],
  ],
  ['PATCH', [/^issues\/\d+$/, /^issues\/comments\/\d+$/, /^pulls\/\d+$/, /^pulls\/comments\/\d+$/]],
  ['PUT', [/^issues\/\d+\/labels$/]],
]);

/** Whether the request may carry a credential; throws when it may not go at all. */
export function judgeRepository(
  place: GithubPlace,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  method: string,
): boolean {
  const segments = canonical.path.slice(place.prefix.length + 1).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (place.part === 'api') return judgeApi(segments, sandbox, canonical, method);
  return withoutCredential(canonical, method);
}

function judgeApi(segments: readonly string[], sandbox: Sandbox, canonical: CanonicalRequest, method: string): boolean {
  if (segments[0]?.toLowerCase() !== 'repos' || segments.length < 3) return withoutCredential(canonical, method);
  demandRepository(segments[1]!, segments[2]!, sandbox);
  if (isRead(method)) return true;
  const operation = segments.slice(3).join('/');
  if (harmlessWrites.get(method)?.some((allowed) => allowed.test(operation))) return true;
  throw notJudged(
    `${method} ${canonical.path} is not one of the writes this version can judge`,
    'Passing now: creating and editing issues, pull requests and comments, and labels on issues. Ask a person for the rest.',
  );
}

/** Open to read as anybody could, without our credential; nothing else. */
function withoutCredential(canonical: CanonicalRequest, method: string): boolean {
  if (isRead(method)) return false;
  throw notJudged(
    `${method} ${canonical.path} cannot be tied to a repository of this sandbox`,
    'This version judges REST calls under /repos/OWNER/REPO and git. GraphQL, and calls about users, organisations and gists, are refused.',
  );
}

function demandRepository(owner: string, name: string, sandbox: Sandbox): void {
  const repository = canonicalRepository(owner, name);
  if (repository !== null && coversRepository(sandbox.repos, repository)) return;
  throw notItsRepository(repository ?? `${owner}/${name}`, sandbox);
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

function notJudged(message: string, hint: string): Refusal {
  return new Refusal('repo.operation-not-judged', message, { rule: 'built-in: only what can be judged', hint });
}
