// Judges a push by what it would really do, before any of it is sent on: takes its body in, looks at its commands, its
// history and the paths it changes, and either hands on a flow that sends exactly what was judged, or refuses with every
// finding at once. What cannot be decided is refused. // Guards: threats.md T8
import type { Spool } from '../../../kit/files/spool.ts';
import { enrich } from '../../../path/enrich.ts';
import { BodyPull } from '../../../path/exchange/body-pull.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import type { Framing } from '../../../path/exchange/exchange.ts';
import { ReplacedBody } from '../../../path/exchange/replaced-body.ts';
import { addWrapper, payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { granted } from '../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { OverBudget, type WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { ReceivePackRequest } from '../../../protocols/git/receive-pack-request.ts';
import { checkGitHead, withBodyOf, withoutOwnProof } from './git-head.ts';
import type { GitServer, OpenGitServer } from './git-server.ts';
import { judgeCommands } from './judge-commands.ts';
import { judgeContent, refsAbout } from './judge-content.ts';
import { isMove } from './judge-history.ts';
import { judgeAliases, namesDecide } from './judge-tips.ts';
import { findingOf } from './push-failure.ts';
import { describeCommands, type PushFinding, refusePush } from './push-finding.ts';
import type { PushMemory } from './push-memory.ts';
import type { PushRoom } from './push-room.ts';
import { PushBody } from './receive-push.ts';

export interface PushPorts {
  readonly spool: Spool;
  readonly openGitServer: OpenGitServer;
  readonly pushRoom: PushRoom;
  readonly pushMemory: PushMemory;
}

export async function judgePush(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: PushPorts,
): Promise<Authorized> {
  const { isCompressed } = checkGitHead(flow.request, 'receive-pack');
  const exchange = payloadExchange(flow);
  const gone = new AbortController();
  const pull = BodyPull.from(exchange);
  exchange.onAbandoned = () => {
    gone.abort();
    pull.fail(new ClientGone());
  };
  const reading = ports.pushRoom.openForCommands(flow.sandbox.id);
  flow.trail.alsoRelease(() => reading.close());
  const body = new PushBody(pull, isCompressed, policy.limits.pushBytes, reading);
  flow.trail.alsoRelease(() => void body.close().catch(() => {}));

  const push = await readCommands(body);
  enrich(flow, { asked: `receive-pack ${permission.git!.repository} ${describeCommands(push.commands)}` });
  const findings = [...judgeCommands(policy, flow.sandbox, push.commands), ...judgeOptions(push.pushOptions)];
  // Nothing that is in its pack would let it pass.
  if (findings.length > 0) throw await refuseUnread(flow, body, push, findings);
  const budget = openBudget(flow, ports);
  if (budget instanceof OverBudget) throw await refuseUnread(flow, body, push, [findingOf(budget, policy)]);
  const asked = ports.openGitServer(flow, permission, gone.signal, budget);
  const server = ports.pushMemory.over(asked, flow, permission, budget);
  if (push.packFollows && !needsPack(policy, push)) {
    findings.push(...(await judgeNames(policy, flow, push, server)));
    if (findings.length === 0) return passOn(flow, permission, { kind: 'chunked' }, null, () => passing(body, policy));
  }
  try {
    const objects = await body.keep(ports.spool, budget);
    const found =
      objects === null
        ? await judgeNames(policy, flow, push, server)
        : await judgeContent(policy, flow.sandbox, push.commands, objects, server, budget);
    for (const finding of found) findings.push(finding);
    if (findings.length === 0) {
      await server.passed(
        push.commands.map(({ newId }) => newId),
        objects,
      );
    }
  } catch (error) {
    if (gone.signal.aborted) throw new ClientGone();
    findings.push(findingOf(error, policy));
    if (body.file === null || !(await drained(body))) throw asRefusal(findings[0]!);
  }
  if (gone.signal.aborted) throw new ClientGone();
  // What is kept in memory of it decides nothing any more.
  budget.close();
  if (findings.length > 0) throw refusalOf(flow, push, findings);
  const file = body.file!;
  return passOn(flow, permission, { kind: 'length', bytes: file.bytes }, file.bytes, () => file.chunks());
}

/** Of what is refused by its commands nothing is kept or looked into. It is read to its end, since git reads no answer before. */
async function refuseUnread(
  flow: Identified,
  body: PushBody,
  push: ReceivePackRequest,
  findings: readonly PushFinding[],
): Promise<Refusal> {
  return (await drained(body)) ? refusalOf(flow, push, findings) : asRefusal(findings[0]!);
}

function refusalOf(flow: Identified, push: ReceivePackRequest, findings: readonly PushFinding[]): Refusal {
  return refusePush({ requestId: flow.requestId, host: flow.canonical.host, ...push, findings });
}

/** Given back when the flow is over at the latest. */
function openBudget(flow: Identified, { pushRoom }: PushPorts): WorkBudget | OverBudget {
  try {
    const budget = pushRoom.open(flow.sandbox.id);
    flow.trail.alsoRelease(() => budget.close());
    return budget;
  } catch (error) {
    if (error instanceof OverBudget) return error;
    throw error;
  }
}

async function readCommands(body: PushBody): Promise<ReceivePackRequest> {
  try {
    return await body.readCommands();
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    // Without its capabilities the client cannot be answered in the protocol.
    throw asRefusal(findingOf(error, null));
  }
}

/** Whether anything but the commands decides: then the push waits on disk until all of it was seen. */
function needsPack(policy: CompiledPolicy, { commands }: ReceivePackRequest): boolean {
  return policy.protectedPaths.length > 0 || (!policy.allowForcePush && commands.some(isMove));
}

/** What can be said without a pack and only with the server: a ref may be another name for a second one. */
async function judgeNames(
  policy: CompiledPolicy,
  { sandbox }: Identified,
  { commands }: ReceivePackRequest,
  server: GitServer,
): Promise<PushFinding[]> {
  if (!namesDecide(policy, sandbox, commands)) return [];
  try {
    return judgeAliases(policy, sandbox, commands, await refsAbout(policy, commands, server));
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    return [findingOf(error, policy)];
  }
}

/** The limit holds also for what is not kept. */
async function* passing(body: PushBody, policy: CompiledPolicy): AsyncGenerator<Buffer> {
  try {
    yield* body.passThrough();
  } catch (error) {
    throw asRefusal(findingOf(error, policy));
  }
}

async function drained(body: PushBody): Promise<boolean> {
  try {
    return await body.drain();
  } catch {
    return false;
  }
}

function passOn(
  flow: Identified,
  permission: Permission,
  framing: Framing,
  bytes: number | null,
  source: () => AsyncIterable<Buffer>,
): Authorized {
  addWrapper(flow, 'replaced', (inner) => new ReplacedBody(inner, framing, source));
  return enrich(flow, {
    permission: granted(permission),
    judgedFields: withBodyOf(withoutOwnProof(flow.request), bytes),
  });
}

function asRefusal({ code, message, rule, hint, cause }: PushFinding): Refusal {
  return new Refusal(code, message, { rule, hint, cause });
}

// What a push asks of its server beside moving refs. Options with a dot are orders to the forge: GitLab merges, sets
// variables of a pipeline or skips its own checks by them, GitHub Enterprise changes who may see a repository. Only those
// that do no more than a pull request does may pass; words without a dot (a topic) are the server's hooks to read.
const harmless = new Set([
  'ci.skip',
  'ci.no_pipeline',
  ...['create', 'target', 'title', 'description', 'draft', 'label', 'unlabel', 'assign', 'unassign', 'milestone'].map(
    (word) => `merge_request.${word}`,
  ),
]);

export function judgeOptions(options: readonly string[]): PushFinding[] {
  return options.filter((option) => !isHarmless(option)).map(refused);
}

function isHarmless(option: string): boolean {
  const name = nameOf(option);
  return !name.includes('.') || harmless.has(name);
}

function nameOf(option: string): string {
  return option.split('=', 1)[0]!.trim().toLowerCase();
}

function refused(option: string): PushFinding {
  return {
    code: 'push.option',
    ref: null,
    rule: 'built-in: push options that only describe',
    message: `the push option ${nameOf(option)} is an order to the server that is not judged here`,
    reason: 'a push option is not allowed',
    hint: 'Push without that option (-o), and ask a person for what it would have done.',
  };
}
