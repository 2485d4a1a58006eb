// What a call of GitHub's REST API would do, to which repository, and whether it may, from its method and path. Deny by
// default: what is not in the table is refused, and so is a read that cannot be tied to a repository of the sandbox,
// unless anybody may read it. // Guards: threats.md T8

import { canonicalRepository, coversRepository } from '../../../kit/text/repository-name.ts';
import type { CanonicalRequest, GithubRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { notItsRepository } from '../git/git-request.ts';
import { allowsEffect, demandEffect } from './demand-effect.ts';
import { hasJudgedBody } from './judge-body.ts';
import { findRestOperation, type RestOperation } from './rest-operation.ts';

export interface GithubDecision {
  readonly github: GithubRequest;
  readonly repository: string | null;
  readonly mayCarry: boolean;
  /** A person is to be asked about an effect it has. */
  readonly isAsked: boolean;
}

type MethodDecision = Omit<GithubDecision, 'isAsked'>;

/** Reads that are of the account itself: without its credential there is nothing to answer. */
const personal = /^\/(?:agents|user|issues|notifications|installation|app)(?:\/|$)/;
const graphqlPath = /^\/graphql\/?$/i;

/** `rawPath` without the prefix of an Enterprise host; `methods` all that the request may turn into. */
export function judgeRest(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  rawPath: string,
  methods: readonly string[],
): GithubDecision {
  if (graphqlPath.test(rawPath)) return graphql(canonical, methods);
  const decisions = methods.map((method) => judgeMethod(policy, sandbox, canonical, rawPath, method));
  const [own] = decisions;
  if (methods.length > 1 && decisions.some(({ github }, i) => hasJudgedBody(methods[i]!, github))) {
    throw notUnderstood(canonical, 'a call that writes may not ask to be taken for another method');
  }
  const asks = policy.githubAsks[sandbox.authMode];
  const isAsked = decisions.some(({ github }) => asks.has(github.effect));
  return { ...own!, mayCarry: decisions.every(({ mayCarry }) => mayCarry), isAsked };
}

function graphql(canonical: CanonicalRequest, methods: readonly string[]): GithubDecision {
  if (methods.length !== 1 || methods[0] !== 'POST' || canonical.query !== null) {
    throw new Refusal('github.graphql', 'a GraphQL request must be a POST without a query string', {
      rule: 'built-in: one spelling of GraphQL',
      hint: 'Send {"query": …, "variables": …} as the JSON body of a POST.',
    });
  }
  const github: GithubRequest = { effect: 'read', operation: 'graphql', params: new Map(), repositoryId: null };
  return { github, repository: null, mayCarry: true, isAsked: false };
}

function judgeMethod(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  rawPath: string,
  method: string,
): MethodDecision {
  const found = findRestOperation(method, rawPath);
  if (found?.kind === 'doubt') throw notUnderstood(canonical, `the path ${found.why}`);
  if (found === null) throw notUnderstood(canonical, 'it is not an operation of GitHub that this gateway knows');
  const asked = `${method} ${canonical.path}`;
  const repository = demandRepository(found, sandbox);
  const github: GithubRequest = {
    effect: found.effect,
    operation: found.template,
    params: found.params,
    repositoryId: found.repository !== null && 'id' in found.repository ? found.repository.id : null,
  };
  if (found.repository === null) return withoutRepository(policy, sandbox, github, method, asked);
  demandEffect(policy, sandbox, found.effect, asked);
  refuseForks(found, canonical);
  return { github, repository, mayCarry: true };
}

/** `base...user:branch` compares with a branch of somebody's fork, which the credential may see and others may not. */
function refuseForks({ params }: RestOperation, canonical: CanonicalRequest): void {
  if (![...params].some(([name, value]) => /^(?:basehead|base|head)$/.test(name) && value.includes(':'))) return;
  throw notUnderstood(canonical, 'it names a branch of another repository');
}

/** Null when it is named by its number: that is looked up later. */
function demandRepository({ repository }: RestOperation, sandbox: Sandbox): string | null {
  if (repository === null || 'id' in repository) return null;
  const name = canonicalRepository(repository.owner, repository.name);
  if (name !== null && coversRepository(sandbox.repos, name)) return name;
  throw notItsRepository(name ?? `${repository.owner}/${repository.name}`, sandbox);
}

/** What anybody could read is read as anybody, where the policy allows no more. */
function withoutRepository(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  github: GithubRequest,
  method: string,
  asked: string,
): MethodDecision {
  const { effect } = github;
  const asAnybody = effect === 'read-public' || (effect === 'read-account' && !personal.test(github.operation));
  if (isRead(method) && asAnybody && !(effect === 'read-account' && allowsEffect(policy, sandbox, effect))) {
    return { github, repository: null, mayCarry: false };
  }
  demandEffect(policy, sandbox, effect, asked);
  return { github, repository: null, mayCarry: effect !== 'read-public' };
}

function notUnderstood({ method, path }: CanonicalRequest, why: string): Refusal {
  return new Refusal('repo.operation-not-judged', `${method} ${path} cannot be judged: ${why}`, {
    rule: 'built-in: only what can be judged',
    hint: 'Use the operation as GitHub documents it, under /repos/OWNER/NAME where it is about a repository.',
  });
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
