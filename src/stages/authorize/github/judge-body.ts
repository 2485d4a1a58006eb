// What the body of a call of GitHub's API says that its address does not: which branch is written, whether a review
// approves. Never acts on a call that it has not understood.

import { canonicalRepository, coversRepository } from '../../../kit/text/repository-name.ts';
import type { GithubRequest, Identified, Permission } from '../../../path/flow.ts';
import type { GithubEffect } from '../../../path/github-effects.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { notItsRepository } from '../git/git-request.ts';
import { findingOf } from '../git/push-failure.ts';
import type { PushFinding } from '../git/push-finding.ts';
import { givesToAgent, mentionsAgent } from './agent-mention.ts';
import { demandEffect } from './demand-effect.ts';
import { gitSideOf } from './git-side.ts';
import type { GithubPorts } from './github-ports.ts';
import { findRefWriteJudge, isJudgedByAddress, oddNames } from './judge-ref-write.ts';
import { branchDoubt } from './plain-names.ts';

const newPull = 'POST /repos/{owner}/{repo}/pulls';
const editedPull = 'PATCH /repos/{owner}/{repo}/pulls/{pull_number}';
const reviews = '/repos/{owner}/{repo}/pulls/{pull_number}/reviews';
const carryEvent = new Set([`POST ${reviews}`, `POST ${reviews}/{review_id}/events`]);

/** Calls with text that people and agents read, or that give somebody an issue or a review. */
const carriesText =
  /^(?:POST|PATCH|PUT) \/repos\/\{owner\}\/\{repo\}\/(?:issues|pulls|.*\/(?:\{issue_number\}|\{pull_number\}|assignees|requested_reviewers|comments|\{comment_id\}|replies|reviews|\{review_id\}|events|dismissals)|comments\/\{comment_id\})$/;

/** Whether the body decides. Then it is read whole, and sent on as it was read. */
export function hasJudgedBody(method: string, { effect, operation }: GithubRequest): boolean {
  const call = `${method} ${operation}`;
  return effect === 'push' || findRefWriteJudge(method, operation) !== null || carriesText.test(call);
}

/** Whether another body could lead to another verdict. */
export function bodyDecides(method: string, { operation }: GithubRequest): boolean {
  if (carriesText.test(`${method} ${operation}`)) return true;
  // What writes a branch in a way that nobody can judge is refused, whatever it says.
  return findRefWriteJudge(method, operation) !== null && !isJudgedByAddress(method, operation);
}

/** Throws the refusal for what the body asks for; else what it has of effects that its address does not tell. */
export async function judgeGithubBody(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  body: Readonly<Record<string, unknown>>,
  ports: GithubPorts,
  signal: AbortSignal,
): Promise<readonly GithubEffect[]> {
  const { method } = flow.canonical;
  const github = permission.github!;
  const call = `${method} ${github.operation}`;
  if (carriesText.test(call)) {
    if (call === newPull) judgeHead(flow, permission.repository!, body);
    if (call === editedPull && body.base !== undefined) refuseOdd(branchDoubt(body.base));
    const effects = carryEvent.has(call) ? judgeEvent(policy, flow, github, body) : [];
    return [...effects, ...judgeAgents(policy, flow, body)];
  }
  const judge = findRefWriteJudge(method, github.operation);
  if (judge === null) throw notJudged(method, flow.canonical.path);
  const repository = permission.repository!;
  const { gitFlow, gitPermission } = gitSideOf(policy, flow, repository);
  let findings: PushFinding[];
  try {
    findings = await judge({
      policy,
      sandbox: flow.sandbox,
      repository,
      params: github.params,
      body,
      server: ports.openGitServer(gitFlow, gitPermission, signal),
      pull: (number) => ports.questions.pull(flow, permission, number, signal),
    });
  } catch (error) {
    findings = [findingOf(error, policy)];
  }
  if (findings.length > 0) throw findingsRefusal(findings);
  return [];
}

/** An approval is a review with one word in it. Anything but the words GitHub knows could be that word in disguise. */
function judgeEvent(
  policy: CompiledPolicy,
  { sandbox, canonical }: Identified,
  github: GithubRequest,
  body: Readonly<Record<string, unknown>>,
): GithubEffect[] {
  const { event } = body;
  if (event === undefined || event === 'COMMENT' || event === 'REQUEST_CHANGES' || event === 'PENDING') return [];
  demandEffect(
    policy,
    sandbox,
    'approve',
    `${canonical.method} ${github.operation} with event ${JSON.stringify(event)}`,
  );
  return ['approve'];
}

/** To give an issue or a review to an agent, or to call one by name, is to start it, with rights of its own. */
function judgeAgents(
  policy: CompiledPolicy,
  { sandbox }: Identified,
  body: Readonly<Record<string, unknown>>,
): GithubEffect[] {
  if (!givesToAgent(body) && !mentionsAgent(body)) return [];
  demandEffect(policy, sandbox, 'agent', 'calling an agent or giving it work');
  return ['agent'];
}

/** A pull request shows the branch it is from, with everything in it: that must be the sandbox's own to see. */
function judgeHead({ sandbox }: Identified, repository: string, body: Readonly<Record<string, unknown>>): void {
  const { head, head_repo: headRepo } = body;
  const [owner, name] = repository.split('/') as [string, string];
  const source = typeof headRepo === 'string' && headRepo !== '' ? headRepo : name;
  // Without one GitHub refuses it by itself.
  const parts = head === undefined ? [''] : typeof head === 'string' ? head.split(':') : [];
  const isPlain =
    (parts.length === 1 || parts.length === 2) && (headRepo === undefined || typeof headRepo === 'string');
  const [from, ofName] = source.includes('/') ? (source.split('/') as [string, string]) : [owner, source];
  const repositoryOfHead = isPlain ? canonicalRepository(parts.length === 2 ? parts[0]! : from, ofName) : null;
  const named = [repositoryOfHead, source.includes('/') ? canonicalRepository(from, ofName) : repositoryOfHead];
  for (const one of named) {
    if (one === null) throw headNotUnderstood();
    if (!coversRepository(sandbox.repos, one)) throw notItsRepository(one, sandbox);
  }
  const { base } = body;
  if (base !== undefined) refuseOdd(branchDoubt(base));
  if (head !== undefined) refuseOdd(branchDoubt(parts.at(-1)));
}

function refuseOdd(doubt: string | null): void {
  const odd = oddNames(doubt);
  if (odd.length > 0) throw findingsRefusal(odd);
}

/** There is no repository in it that could be registered. */
function headNotUnderstood(): Refusal {
  return new Refusal('repo.not-allowed', 'the gateway cannot tell which repository the pull request comes from', {
    rule: 'repos of the registration',
    hint: 'Write "head" as BRANCH, or as OWNER:BRANCH, with the name of a branch in a repository of this sandbox.',
  });
}

function notJudged(method: string, path: string): Refusal {
  return new Refusal(
    'repo.operation-not-judged',
    `${method} ${path} changes a branch in a way that the gateway cannot judge`,
    {
      rule: 'built-in: only what can be judged',
      hint: 'Make the change in a clone and push it with git.',
    },
  );
}

/** One refusal for all that is wrong with a call. */
export function findingsRefusal(findings: readonly PushFinding[]): Refusal {
  const first = findings[0]!;
  const more = findings.slice(1).map(({ message }) => message);
  return new Refusal(first.code, [first.message, ...more].join('; '), {
    rule: first.rule,
    hint: first.hint,
    cause: first.cause,
  });
}
