// Judges a push by what it would really do, before any of it is sent on: takes its body in, looks at its commands, its
// history and the paths it changes, and either hands on a flow that sends exactly what was judged, or refuses with every
// finding at once. What cannot be decided is refused. // Guards: threats.md T8
import { BodyPull } from '../../flow/body-pull.ts';
import { ClientGone } from '../../flow/client-gone.ts';
import type { Exchange, Framing } from '../../flow/exchange.ts';
import type { Authorized, Identified, Permission } from '../../flow/flow.ts';
import { learn } from '../../flow/learn.ts';
import { Refusal } from '../../flow/refusal.ts';
import { ReplacedBody } from '../../flow/replaced-body.ts';
import type { ReceivePackRequest } from '../../git-wire/receive-pack-request.ts';
import type { Spool } from '../../kit/spool.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { checkGitHead, withBodyOf, withoutOwnProof } from './git-head.ts';
import type { GitServer, OpenGitServer } from './git-server.ts';
import { judgeCommands } from './judge-commands.ts';
import { judgeContent, refsAbout } from './judge-content.ts';
import { isMove } from './judge-history.ts';
import { judgeOptions } from './judge-options.ts';
import { judgeAliases, mayBeAlias } from './judge-tips.ts';
import { findingOf } from './push-failure.ts';
import { describeCommands, type PushFinding, refusePush } from './push-finding.ts';
import { PushBody } from './receive-push.ts';

export interface PushPorts {
  readonly spool: Spool;
  readonly openGitServer: OpenGitServer;
}

export async function judgePush(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: PushPorts,
): Promise<Authorized> {
  const { isCompressed } = checkGitHead(flow.request, 'receive-pack');
  const exchange = flow.exchange.asPayload();
  const gone = new AbortController();
  const pull = BodyPull.from(exchange);
  exchange.onAbandoned = () => {
    gone.abort();
    pull.fail(new ClientGone());
  };
  const body = new PushBody(pull, isCompressed, policy.limits.pushBytes);
  flow.trail.alsoRelease(() => void body.close().catch(() => {}));
  learn(flow, { exchange });

  const push = await readCommands(body);
  learn(flow, { asked: `receive-pack ${permission.git!.repository} ${describeCommands(push.commands)}` });
  const findings = [...judgeCommands(policy, flow.sandbox, push.commands), ...judgeOptions(push.pushOptions)];
  const server = ports.openGitServer(flow, permission, gone.signal);
  if (findings.length === 0 && push.packFollows && !needsPack(policy, push)) {
    findings.push(...(await judgeNames(policy, flow, push, server)));
    if (findings.length === 0)
      return passOn(flow, permission, exchange, { kind: 'chunked' }, null, () => passing(body, policy));
  }
  try {
    const objects = await body.keep(ports.spool);
    if (objects === null) findings.push(...(await judgeNames(policy, flow, push, server)));
    else findings.push(...(await judgeContent(policy, flow.sandbox, push.commands, objects, server)));
  } catch (error) {
    if (gone.signal.aborted) throw new ClientGone();
    findings.push(findingOf(error, policy));
    if (body.file === null || !(await drained(body))) throw asRefusal(findings[0]!);
  }
  if (gone.signal.aborted) throw new ClientGone();
  if (findings.length > 0) {
    throw refusePush({ requestId: flow.requestId, host: flow.canonical.host, ...push, findings });
  }
  const file = body.file!;
  return passOn(flow, permission, exchange, { kind: 'length', bytes: file.bytes }, file.bytes, () => file.chunks());
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
  if (!commands.some(mayBeAlias)) return [];
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
  exchange: Exchange,
  framing: Framing,
  bytes: number | null,
  source: () => AsyncIterable<Buffer>,
): Authorized {
  return learn(flow, {
    permission,
    request: withBodyOf(withoutOwnProof(flow.request), bytes),
    exchange: new ReplacedBody(exchange, framing, source),
  });
}

function asRefusal({ code, message, rule, hint, cause }: PushFinding): Refusal {
  return new Refusal(code, message, { rule, hint, cause });
}
