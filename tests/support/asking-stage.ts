// The authorize stage with the real service for approvals before it: for tests of what waits, and of what an approval covers.
import type { ApprovalOptions } from '../../src/gateway/approvals/approval-ports.ts';
import { ClientGone } from '../../src/path/exchange/client-gone.ts';
import { HeaderList } from '../../src/path/exchange/header-list.ts';
import type { CanonicalRequest, Identified } from '../../src/path/flow.ts';
import { Refusal } from '../../src/path/refusal.ts';
import type { Sandbox } from '../../src/path/sandbox.ts';
import type { CompiledPolicy } from '../../src/policy/compiled.ts';
import { createAuthorizeStage } from '../../src/stages/authorize/authorize-stage.ts';
import { type ApprovalsGround, openApprovals } from './approvals-ground.ts';
import { acceptedFlow, callerFrom, canonicalOf, noGitPorts, sandboxWith } from './hand-made-flow.ts';
import { requestLimits } from './hand-made-gate.ts';

export interface AskingStage extends ApprovalsGround {
  policy: CompiledPolicy;
  /** What came of a request: the rule that let it pass, the code of its refusal, `gone`, or `asked` while it waits. */
  send(method: string, url: string, how?: Sent): Promise<string>;
  /** The same, when it is over. */
  outcome(flow: Identified): Promise<string>;
  flowOf(method: string, url: string, how?: Sent): Identified;
}

export interface Sent {
  readonly sandbox?: Partial<Sandbox>;
  readonly fields?: [string, string][];
  readonly kind?: CanonicalRequest['kind'];
}

export function openAskingStage(
  policy: CompiledPolicy,
  options: Partial<ApprovalOptions> = {},
  git: Partial<typeof noGitPorts> = {},
): AskingStage {
  const settings = () => ({ answerWithinMs: 120_000, held: 100, heldPerSandbox: 100 });
  const ground = openApprovals({ settings, ...options });
  ground.service.watchers.begin();
  const ports = { ...noGitPorts, ...git, asking: ground.service, approvals: ground.inForce };
  const limits = requestLimits({ requestsPerMinute: 1000, burst: 1000, concurrentRequests: 100 });
  const stage = createAuthorizeStage(() => made.policy, limits, ports);
  const outcome = async (flow: Identified): Promise<string> => {
    try {
      return (await stage.run(flow)).permission.rule;
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      if (error instanceof ClientGone) return 'gone';
      throw error;
    }
  };
  const flowOf = (method: string, url: string, how: Sent = {}): Identified => {
    const canonical = canonicalOf(method, url, how.kind);
    const headers = HeaderList.from(how.fields ?? []);
    const exchange = { onAbandoned: null } as Identified['exchange'];
    const sandbox = sandboxWith({ id: 'one', ...how.sandbox });
    const sni = canonical.host;
    return { ...acceptedFlow(callerFrom(), canonical, { headers, sni }), exchange, sandbox };
  };
  const made: AskingStage = {
    ...ground,
    policy,
    outcome,
    flowOf,
    async send(method, url, how) {
      const before = ground.service.list().length;
      const flow = flowOf(method, url, how);
      const done = outcome(flow);
      // Whether it waits is decided within the turn in which it came.
      if (ground.service.list().length > before) {
        flow.exchange.onAbandoned?.();
        await done;
        return 'asked';
      }
      return done;
    },
  };
  return made;
}
