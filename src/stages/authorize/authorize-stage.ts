// The third stage: may this sandbox do this. Holds no rule of its own but the one that needs the handshake of a
// tunnel; every other is in `decide`, which `sallyport check` asks too, and for git, whose bodies say what a request
// does, in `git/`. Opens nothing itself and sees no secret.

import { enrich } from '../../path/enrich.ts';
import type { Authorized, Identified } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Stage } from '../../path/stage.ts';
import { granted } from '../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { askPerson, effectRule, effectToAsk, type Judged, type PersonPorts, whileClientWaits } from './ask-person.ts';
import { refuseBareBody } from './bare-requests.ts';
import { decide } from './decide.ts';
import { authorizeGit, type GitPorts } from './git/authorize-git.ts';
import { tellPusher } from './git/tell-pusher.ts';
import { authorizeGithub } from './github/authorize-github.ts';
import type { GithubPorts } from './github/github-ports.ts';
import { judgedMethods } from './judged-methods.ts';
import type { ModelBudget } from './limits/budget.ts';
import type { Admission, RequestLimits } from './limits/limits.ts';
import { refuseOtherName } from './tunnel-rules.ts';

export interface AuthorizePorts extends GitPorts, GithubPorts, PersonPorts {
  readonly budget: Pick<ModelBudget, 'admit'>;
}

type Limits = Pick<RequestLimits, 'admit' | 'readmit' | 'admitTunnel' | 'admitRecord' | 'admitUse' | 'pace'>;
type Later<T> = Promise<T> | T;

/** `currentPolicy` is asked for every request, so that a reload holds from the next one on. */
export function createAuthorizeStage(
  currentPolicy: () => CompiledPolicy,
  limits: Limits,
  ports: AuthorizePorts,
): Stage<Identified, Authorized> {
  const decideNow = (flow: Identified): Judged => {
    const { canonical, request, sandbox } = flow;
    const policy = ports.approvals.policyFor(currentPolicy(), sandbox.id);
    return { policy, permission: decide(policy, sandbox, canonical, request.headers) };
  };

  const judge = (flow: Identified): Later<Authorized> => {
    const { canonical, request } = flow;
    const judged = decideNow(flow);
    const { permission } = judged;
    if (canonical.kind === 'tunnel') refuseOtherName(canonical, request.sni, request.hiddenName);
    // Asking for a tunnel or a name is not a request yet: what comes after it is counted, and asked about.
    if (canonical.kind === 'connect' || canonical.kind === 'lookup')
      return enrich(flow, { permission: granted(permission) });
    refuseBareBody(canonical, permission, flow.exchange.requestFraming);
    if (permission.askedBy !== undefined && mustAsk(flow, judged)) return holdUntilApproved(flow, judged);
    return use(flow, judged);
  };

  /** What was approved by its effect is known here alone: the rules of the policy name no repositories. */
  const mustAsk = (flow: Identified, judged: Judged): boolean => {
    const { permission } = judged;
    if (permission.askedBy !== effectRule(flow) || permission.github === null) return true;
    if (judgedMethods(flow.canonical.method, flow.request.headers).length > 1) return true;
    const found = { effects: [permission.github.effect], repositories: [permission.repository] };
    return effectToAsk(ports, flow, judged, found) !== null;
  };

  /**
   * While it waits it has no place among `concurrent_requests`: others of its sandbox go on, and how many may wait is
   * bounded by `approvals.held_per_sandbox`. It goes on however many have come meanwhile: a person has said yes.
   */
  const holdUntilApproved = async (flow: Identified, first: Judged): Promise<Authorized> => {
    flow.trail.end();
    const judged = await approved(flow, first).catch(async (error: unknown) => {
      if (!(error instanceof Refusal) || first.permission.git?.operation !== 'receive-pack') throw error;
      await limits.readmit(flow);
      limits.pace(flow, first.permission);
      throw await tellPusher(flow, first.permission, first.policy, error, ports.pushRoom);
    });
    await limits.readmit(flow);
    return use(flow, judged);
  };

  const approved = async (flow: Identified, first: Judged): Promise<Judged> => {
    const waiting = whileClientWaits(flow);
    try {
      for (let judged = first; ; ) {
        const { permission } = judged;
        await askPerson(flow, permission, permission.askedBy!, null, ports, waiting.signal);
        judged = decideNow(flow);
        // Another credential than the one that was shown is another question.
        const { askedBy, credential, github } = judged.permission;
        const isAsShown = credential === permission.credential && github?.effect === permission.github?.effect;
        if (askedBy === undefined || isAsShown) return judged;
      }
    } finally {
      waiting.end();
    }
  };

  const use = (flow: Identified, judged: Judged): Later<Authorized> => {
    const admission = limits.admitUse(flow, judged.permission);
    return admission === undefined ? goOn(flow, judged) : admission.then(() => goOn(flow, judged));
  };

  const goOn = (flow: Identified, { permission, policy }: Judged): Later<Authorized> => {
    limits.pace(flow, permission);
    if (permission.git !== null) return authorizeGit(flow, permission, policy, ports);
    if (permission.github !== null) return authorizeGithub(flow, permission, policy, { ...ports, decideNow });
    const budgeted = ports.budget.admit(flow, permission, policy);
    if (budgeted === undefined) return enrich(flow, { permission: granted(permission) });
    return budgeted.then(() => enrich(flow, { permission: granted(permission) }));
  };

  return {
    name: 'authorize',
    run(flow) {
      const admission = firstAdmission(limits, flow);
      return admission === undefined ? judge(flow) : admission.then(() => judge(flow));
    },
  };
}

/** A transparent connection is no CONNECT that somebody sent: it was counted when it was opened, but not its record. */
function firstAdmission(limits: Limits, flow: Identified): Admission {
  const { kind } = flow.canonical;
  if (kind === 'lookup') return undefined;
  if (kind !== 'connect') return limits.admit(flow);
  return flow.request.destination === null ? limits.admitTunnel(flow) : limits.admitRecord(flow);
}
