// One case of `sallyport policy test`, judged by the code of the path without a gateway: no credential, no upstream and no
// network is there. What would have to be asked of GitHub, or read from a body of git, is undecided, never guessed.

import type { Authorized, Permission } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { JudgedCase } from '../../policy/cases/case-verdict.ts';
import type { CasePush, CaseRequest, CaseSandbox, PolicyCase } from '../../policy/cases/policy-cases.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { canonicalise } from '../../stages/accept/accept-stage.ts';
import { findAllowRule } from '../../stages/authorize/allow-rules.ts';
import { judgeDescribed } from '../../stages/authorize/git/judge-described.ts';
import { findingsRefusal } from '../../stages/authorize/github/judge-body.ts';
import { SandboxTokenEndpoint } from '../../stages/inject/logins/token-endpoint.ts';
import { asIfSent, type Rehearsed, type RehearsedRequest, type RehearsePorts, rehearse } from './rehearse.ts';

/** What decides is not here: a server that nobody can ask, or a body that only the door reads. */
class Undecided extends Error {
  override readonly name = 'Undecided';
  readonly rule: string;
  readonly hint: string;

  constructor(message: string, rule: string, hint = 'Leave it out of the cases, or write `expect: undecided`.') {
    super(message);
    this.rule = rule;
    this.hint = hint;
  }
}

function undecided(what: string): never {
  throw new Undecided(`it depends on ${what}, which only GitHub knows`, 'built-in: asked of GitHub');
}

const nobodyToAsk: Omit<RehearsePorts, 'preview'> = {
  approvals: { policyFor: (policy) => policy, coversEffect: () => false },
  lfsTickets: {
    find: () => {
      throw new Undecided(
        'it depends on the ticket in its address, which only the gateway that issued it knows',
        'built-in: LFS objects by ticket',
      );
    },
  },
  openGitServer: () => ({
    refs: async () => undecided('the branches of the repository'),
    commits: async () => undecided('the history of the repository'),
    known: async () => undecided('the commits of the repository'),
    objects: async () => undecided('the files of the repository'),
  }),
  questions: {
    pull: async () => undecided('the branches of the pull request'),
    repositoryById: async () => undecided('which repository has this number'),
    graphql: async () => undecided('what the ids in the query stand for'),
  },
};

export async function judgeCase(policy: CompiledPolicy, { asked, sandbox: rights }: PolicyCase): Promise<JudgedCase> {
  const sandbox = sandboxWith(rights);
  const touched: string[] = [];
  const judge = async (request: RehearsedRequest): Promise<Rehearsed> => {
    touched.push(...rulesTouched(policy, sandbox, request));
    const preview = (flow: Authorized): Promise<string | null> => previewOf(policy, flow);
    const rehearsed = await rehearse(policy, sandbox, request, { ...nobodyToAsk, preview });
    touched.push(rehearsed.permission.rule);
    return rehearsed;
  };
  try {
    // git asks for the refs first: what is refused there never becomes a push, and what is asked there is asked.
    const first = asked.kind === 'push' ? await judge(advertisementOf(asked)) : null;
    const second = await judge(asked.kind === 'push' ? requestOf(asked) : tried(asked));
    if (asked.kind === 'push') refusePush(policy, sandbox, asked);
    const { permission, credential, open } = second;
    const { rule } = permission;
    const askedBy = first?.askedBy ?? second.askedBy;
    const isAsked = askedBy !== null;
    // A person is asked before the body is read.
    if (asked.kind === 'request' && !isAsked && open !== null) {
      if (asked.body === null) throw new Undecided(open.reason, rule, open.hint);
      leaveToTheDoor(permission);
    }
    return {
      outcome: isAsked ? 'ask' : 'allowed',
      code: null,
      rule: askedBy ?? rule,
      reason: asked.kind === 'push' ? judgedOf(asked) : 'allowed',
      hint: second.hint,
      credential,
      touched: [...touched, ...(isAsked ? [askedBy] : [])],
    };
  } catch (error) {
    const unknown = undecidedIn(error);
    if (unknown !== null) {
      const { rule, message: reason, hint } = unknown;
      return { outcome: 'undecided', code: null, rule, reason, hint, credential: null, touched };
    }
    if (!(error instanceof Refusal)) throw error;
    const { code, rule, message: reason, hint } = error;
    return { outcome: 'refused', code, rule, reason, hint, credential: null, touched: [...touched, rule] };
  }
}

/** A rule that could not ask refuses, and says why it could not in the cause. */
function undecidedIn(error: unknown): Undecided | null {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof Undecided) return one;
  return null;
}

/** What git sends is no text that a case could hold; what is asked of LFS must be there to be judged. */
function leaveToTheDoor({ git }: Permission): never {
  if (git?.operation === 'receive-pack') {
    throw new Undecided(
      'it depends on the refs, the history and the files of the push, which are in its body and read at the door alone',
      'built-in: a push is judged by its body',
      'Write it as `push:`, leave it out of the cases, or write `expect: undecided`.',
    );
  }
  throw new Undecided(
    `it depends on what it asks of LFS (${git?.operation}), and it has no body`,
    'built-in: LFS is judged by its body',
    'Give its body as `json`, leave it out of the cases, or write `expect: undecided`.',
  );
}

function sandboxWith(rights: CaseSandbox): Sandbox {
  return { id: 'the sandbox', containerIp: null, containerId: null, proof: [], createdAt: '', ...rights };
}

function tried({ method, url, headers, body }: CaseRequest): RehearsedRequest {
  return { method, url, headers, body };
}

/** The request with which git begins a push. */
function advertisementOf({ host, repository }: CasePush): RehearsedRequest {
  const url = `https://${host}/${repository}.git/info/refs?service=git-receive-pack`;
  return { method: 'GET', url, headers: {}, body: null };
}

/** The request with which git sends a push. */
function requestOf({ host, repository }: CasePush): RehearsedRequest {
  const url = `https://${host}/${repository}.git/git-receive-pack`;
  return { method: 'POST', url, headers: { 'content-type': 'application/x-git-receive-pack-request' }, body: null };
}

/** What history would tell, the case says itself. */
function refusePush(policy: CompiledPolicy, sandbox: Sandbox, { ref, deletes, rewrites, paths }: CasePush): void {
  const becomes = deletes ? 'deleted' : rewrites ? 'rewritten' : 'created';
  const findings = judgeDescribed(policy, sandbox, { ref, becomes, paths });
  if (findings.length > 0) throw findingsRefusal(findings);
}

function judgedOf({ rewrites, paths }: CasePush): string {
  const open = [rewrites ? '' : 'its history', paths.length > 0 ? '' : 'the files it changes'].filter(
    (one) => one !== '',
  );
  return open.length === 0 ? 'allowed' : `allowed; ${open.join(' and ')} are judged when it comes`;
}

/** The rules for the request itself, whatever else refuses it. */
function rulesTouched(policy: CompiledPolicy, sandbox: Sandbox, request: RehearsedRequest): string[] {
  try {
    const canonical = canonicalise(asIfSent(request));
    if (canonical.kind === 'tcp') return policy.tcpFor(canonical.host).map(({ name }) => name);
    return [findAllowRule(policy, sandbox, canonical, canonical.method).name];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

/** Token endpoints are answered at the door: no credential goes there. */
async function previewOf(policy: CompiledPolicy, flow: Authorized): Promise<string | null> {
  const { canonical, permission } = flow;
  const answered = permission.tunnel ? undefined : policy.tokenEndpoints.at(canonical.host, canonical.path);
  if (answered === undefined) return permission.credential;
  await new SandboxTokenEndpoint().answer(flow, answered.spec, answered.endpoint);
  return null;
}
