// GraphQL on the path: reads the body whole, has it judged, and sends on what was judged. What the judge needs to know of
// nodes is asked of GitHub and remembered for a while, for each sandbox and credential by itself. Writes to refs obey the
// rules of a push.

import { LRUCache } from 'lru-cache';
import { coversRepository } from '../../../kit/text/repository-name.ts';
import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import { withBytes } from '../../../path/exchange/replaced-body.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import { addWrapper, payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { granted } from '../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { zeroId } from '../../../protocols/git/ref-name.ts';
import { askAboutEffect, type Judged } from '../ask-person.ts';
import { withBodyOf } from '../git/git-head.ts';
import { findingOf } from '../git/push-failure.ts';
import type { PushFinding } from '../git/push-finding.ts';
import { askingFor, gitSideOf } from './git-side.ts';
import type { AskingGithub, GithubPorts } from './github-ports.ts';
import { type GraphqlVerdict, judgeGraphql } from './graphql/judge-graphql.ts';
import { type NodeMemory, type NodeResolver, newNodeMemory, RememberedNodes } from './graphql/node-facts.ts';
import type { GraphqlRefWrite } from './graphql/ref-write.ts';
import { renderGraphqlRefusal } from './graphql/refuse-graphql.ts';
import { findingsRefusal } from './judge-body.ts';
import { judgeFileWrite, judgeRefMoves, judgeTakeover } from './judge-ref-write.ts';
import { loadGraphqlTable } from './operation-table.ts';

type AllowedGraphql = Extract<GraphqlVerdict, { readonly allowed: true }>;

const maxBodyBytes = 1024 * 1024;

export async function authorizeGraphql(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: AskingGithub,
): Promise<Authorized> {
  const gone = new AbortController();
  const exchange = payloadExchange(flow);
  const body = await readWholeBody(exchange, maxBodyBytes);
  exchange.onAbandoned = () => gone.abort();
  if (body === null) throw inGraphql(tooLarge(), flow);
  let judged: Judged = { policy, permission };
  const said = new Set<string>();
  const mustAsk = async ({ effects, repositories }: AllowedGraphql): Promise<boolean> => {
    const found = { effects, repositories, bodyBytes: body.length };
    return askAboutEffect(flow, judged, found, said, ports, gone.signal).catch((error: unknown) => {
      throw error instanceof Refusal ? inGraphql(error, flow) : error;
    });
  };
  let verdict: GraphqlVerdict;
  for (;;) {
    verdict = await askJudge(flow, judged.permission, judged.policy, body, ports, gone.signal);
    if (gone.signal.aborted) throw new ClientGone();
    if (!verdict.allowed) throw inGraphql(verdict.refusal, flow);
    if (!(await mustAsk(verdict))) break;
    // By the policy in force now, and by what is there now: a person may take their time.
    judged = ports.decideNow(flow);
  }
  const { body: sent, repositories, asked } = verdict;
  enrich(flow, { asked: [...asked, ...repositories].join(' ') });
  addWrapper(flow, 'replaced', (inner) => withBytes(inner, sent));
  return enrich(flow, {
    permission: granted({ ...judged.permission, repository: repositories[0] ?? null }),
    judgedFields: withBodyOf(flow.request.headers, sent.length),
  });
}

function askJudge(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  body: Buffer,
  ports: GithubPorts,
  signal: AbortSignal,
): Promise<GraphqlVerdict> {
  const { canonical, request, sandbox } = flow;
  return judgeGraphql({
    method: canonical.method,
    query: canonical.query,
    contentType: request.headers.get('content-type') ?? null,
    body,
    mode: sandbox.authMode,
    effects: policy.githubEffects[sandbox.authMode],
    covers: (repository) => coversRepository(sandbox.repos, repository),
    mutationEffect: (name) => loadGraphqlTable().mutations.get(name) ?? null,
    nodes: nodesFor(flow, permission, ports, signal),
    refs: { judge: (write) => judgeWrite(flow, policy, ports, write, signal) },
  });
}

/** What was learned about nodes, by who learned it. */
const memories = new LRUCache<string, NodeMemory>({ max: 1_000 });

function nodesFor(flow: Identified, permission: Permission, ports: GithubPorts, signal: AbortSignal): NodeResolver {
  const { sandbox, canonical } = flow;
  const key = `${sandbox.id} ${canonical.host} ${permission.credential ?? ''}`;
  const memory = memories.get(key) ?? newNodeMemory();
  memories.set(key, memory);
  const asking = askingFor(flow, permission);
  return new RememberedNodes((body) => ports.questions.graphql(flow, asking, body, signal), memory);
}

async function judgeWrite(
  flow: Identified,
  policy: CompiledPolicy,
  ports: GithubPorts,
  write: GraphqlRefWrite,
  signal: AbortSignal,
): Promise<void> {
  let findings: PushFinding[];
  try {
    findings = await findingsOf(flow, policy, ports, write, signal);
  } catch (error) {
    findings = [findingOf(error, policy)];
  }
  if (findings.length > 0) throw findingsRefusal(findings);
}

function findingsOf(
  flow: Identified,
  policy: CompiledPolicy,
  ports: GithubPorts,
  write: GraphqlRefWrite,
  signal: AbortSignal,
): Promise<PushFinding[]> | PushFinding[] {
  const { sandbox } = flow;
  if (write.kind === 'files') return judgeFileWrite({ policy, sandbox }, write.branch, write.paths);
  if (write.kind === 'takeover') return judgeTakeover({ policy, sandbox }, write.to, write.from);
  return judgeMove(flow, policy, ports, write, signal);
}

async function judgeMove(
  flow: Identified,
  policy: CompiledPolicy,
  ports: GithubPorts,
  { repository, ref, newOid, isNew, force }: Extract<GraphqlRefWrite, { kind: 'move' }>,
  signal: AbortSignal,
): Promise<PushFinding[]> {
  const { gitFlow, gitPermission } = gitSideOf(policy, flow, repository);
  const server = ports.openGitServer(gitFlow, gitPermission, signal);
  const newId = newOid ?? zeroId;
  return judgeRefMoves({ policy, sandbox: flow.sandbox, server }, ref, newId, { isNew, force });
}

function inGraphql(refusal: Refusal, { requestId }: Identified): Refusal {
  const { code, message, rule, hint, cause } = refusal;
  return new Refusal(code, message, { rule, hint, cause, inProtocol: renderGraphqlRefusal(refusal, requestId) });
}

function tooLarge(): Refusal {
  return new Refusal('limit.body-size', `a GraphQL request may have at most ${maxBodyBytes} bytes`, {
    rule: 'built-in: bounded API calls',
    hint: 'Ask for less at a time.',
  });
}
