// What is done with a call of GitHub's API once its operation is known: a repository named by number is looked up, a body
// that decides is read whole, judged, and sent on as it was read. Everything else streams through untouched.

import { coversRepository } from '../../../kit/text/repository-name.ts';
import { enrich } from '../../../path/enrich.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { withBytes } from '../../../path/exchange/replaced-body.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import { addWrapper, payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { granted } from '../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { askAboutEffect, type Judged } from '../ask-person.ts';
import { withBodyOf } from '../git/git-head.ts';
import { githubPlace } from '../github-place.ts';
import { judgedMethods } from '../judged-methods.ts';
import { refuseBlockedApi } from '../refuse-blocked-api.ts';
import { authorizeGraphql } from './authorize-graphql.ts';
import { askingFor } from './git-side.ts';
import type { AskingGithub, GithubPorts } from './github-ports.ts';
import { hasJudgedBody, judgeGithubBody } from './judge-body.ts';

/** A file may come along in base64; larger ones are what git is for. */
const maxBodyBytes = 16 * 1024 * 1024;

export function authorizeGithub(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: AskingGithub,
): Promise<Authorized> | Authorized {
  const github = permission.github!;
  if (github.operation === 'graphql') return authorizeGraphql(flow, permission, policy, ports);
  enrich(flow, { asked: `${github.effect} ${permission.repository ?? ''}`.trim() });
  const isJudged = hasJudgedBody(flow.canonical.method, github);
  if (github.repositoryId === null && !isJudged) return enrich(flow, { permission: granted(permission) });
  return authorizeLater(flow, permission, policy, ports, isJudged);
}

async function authorizeLater(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: AskingGithub,
  isJudged: boolean,
): Promise<Authorized> {
  const gone = new AbortController();
  flow.exchange.onAbandoned = () => gone.abort();
  const bound = await bindRepository(flow, permission, policy, ports, gone.signal);
  if (!isJudged) return enrich(flow, { permission: granted(bound) });
  refuseParameters(flow);
  const exchange = payloadExchange(flow);
  const bytes = await readWholeBody(exchange, maxBodyBytes);
  if (bytes === null) throw tooLarge();
  exchange.onAbandoned = () => gone.abort();
  const body = readJsonObject(bytes);
  let judged: Judged = { policy, permission: bound };
  const found = { repositories: [bound.repository], bodyBytes: bytes.length };
  const said = new Set<string>();
  for (;;) {
    const effects = await judgeGithubBody(flow, judged.permission, judged.policy, body, ports, gone.signal);
    if (!(await askAboutEffect(flow, judged, { ...found, effects }, said, ports, gone.signal))) break;
    // By the policy in force now, and by what is there now: a person may take their time.
    const { policy: current, permission: now } = ports.decideNow(flow);
    judged = { policy: current, permission: await bindRepository(flow, now, current, ports, gone.signal) };
  }
  // Nothing is written for somebody who is no longer there to hear of it.
  if (gone.signal.aborted) throw new ClientGone();
  const sent = Buffer.from(JSON.stringify(body));
  addWrapper(flow, 'replaced', (inner) => withBytes(inner, sent));
  return enrich(flow, {
    permission: granted(judged.permission),
    judgedFields: asJson(flow.request.headers, sent.length),
  });
}

/** Links of GitHub to further pages name a repository by its number. */
async function bindRepository(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: GithubPorts,
  signal: AbortSignal,
): Promise<Permission> {
  const id = permission.github!.repositoryId;
  if (id === null) return permission;
  const repository = await ports.questions.repositoryById(flow, askingFor(flow, permission), id, signal);
  if (repository !== null && coversRepository(flow.sandbox.repos, repository)) {
    refuseBlockedUnderItsName(policy, flow, id, repository);
    return { ...permission, repository };
  }
  // In the same words whether there is one or not: the sandbox is told nothing that it did not know.
  throw new Refusal('repo.not-allowed', `repository number ${id} is not among the repositories of ${flow.sandbox.id}`, {
    rule: 'repos of the registration',
    hint: `Its repositories: ${flow.sandbox.repos.join(', ') || 'none'}. Name one of them as /repos/OWNER/NAME.`,
    cause: new Error(`number ${id} is ${repository ?? 'none that the credential can see'}`),
  });
}

/** A pattern of the policy names repositories by name: it holds for the number too. */
function refuseBlockedUnderItsName(
  policy: CompiledPolicy,
  { canonical, request }: Identified,
  id: string,
  repository: string,
): void {
  const named = (path: string): string => path.replace(`/repositories/${id}`, `/repos/${repository}`);
  const renamed = { ...canonical, path: named(canonical.path), rawPath: named(canonical.rawPath) };
  for (const method of judgedMethods(canonical.method, request.headers)) {
    refuseBlockedApi(policy, renamed, method, githubPlace(policy, renamed));
  }
}

/** Strict: what is judged is what is sent, so it must be one object. An empty body says nothing. */
export function readJsonObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    value = null;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Refusal('malformed.syntax', 'the body of this call is not a JSON object', {
    rule: 'built-in: a write is judged by its body',
    hint: 'Send the parameters as one JSON object, without compression.',
  });
}

/** Whatever the client called it, what goes on is JSON. */
function asJson(fields: HeaderList, bytes: number): HeaderList {
  return withBodyOf(fields, bytes)
    .without((key) => key === 'content-type')
    .append('Content-Type', 'application/json');
}

/** GitHub reads parameters from the query too: there they would not have been judged. */
function refuseParameters({ canonical, request }: Identified): void {
  if (canonical.query === null && !request.headers.has('content-encoding')) return;
  throw new Refusal(
    'malformed.syntax',
    'a call that writes must have all its parameters in an uncompressed JSON body',
    {
      rule: 'built-in: a write is judged by its body',
      hint: 'Move the parameters from the query into the body, and send it uncompressed.',
    },
  );
}

function tooLarge(): Refusal {
  return new Refusal('limit.body-size', `a call that writes may have at most ${maxBodyBytes} bytes`, {
    rule: 'built-in: bounded API calls',
    hint: 'Commit large files in a clone and push them with git.',
  });
}
