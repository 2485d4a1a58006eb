// What the policy says of an access request, today and if it were approved: asked of the very code that the path runs. Grants nothing.

import type { AccessRequest } from '../../path/approvals.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { canonicalise } from '../../stages/accept/accept-stage.ts';
import { chooseCredential } from '../../stages/authorize/credential-choice.ts';
import type { JudgedAccessRequest } from '../approvals/approval-ports.ts';
import { ApprovalsInForce } from '../approvals/approvals-in-force.ts';
import { asIfSent, rehearseRules } from '../decisions/rehearse.ts';

export function judgeAccessRequest(
  policy: CompiledPolicy,
  inForce: ApprovalsInForce,
  sandbox: Sandbox,
  accessRequest: AccessRequest,
): JudgedAccessRequest {
  const today = tryOut(inForce.policyFor(policy, sandbox.id), sandbox, accessRequest);
  const tunnel = !(today instanceof Refusal) && today.tunnel;
  const approved = new ApprovalsInForce();
  const { scheme, host, port, method, path } = accessRequest;
  const credential = credentialOf(policy, sandbox, accessRequest);
  const covers = {
    kind: 'request',
    scheme,
    host,
    port,
    method,
    path,
    tunnel,
    websocket: false,
    credential,
  } as const;
  const untilMs = Number.POSITIVE_INFINITY;
  approved.replace({ approvals: [{ id: 'a0', sandbox: sandbox.id, untilMs, by: '', covers }], learning: [] });
  const then = tryOut(approved.policyFor(policy, sandbox.id), sandbox, accessRequest);
  const permission = then instanceof Refusal ? null : then;
  return {
    tunnel,
    passes: !(today instanceof Refusal) && today.askedBy === undefined,
    rule: today instanceof Refusal ? today.rule : (today.askedBy ?? today.rule),
    credential: permission?.credential ?? null,
    effect: permission?.github?.effect ?? null,
    repository: permission?.repository ?? null,
    inVain: then instanceof Refusal ? `${then.message} (${then.rule})` : null,
  };
}

/** What it would carry at most: the approval is for that. */
function credentialOf(policy: CompiledPolicy, sandbox: Sandbox, accessRequest: AccessRequest): string | null {
  try {
    return chooseCredential(policy, sandbox, canonicalOf(accessRequest));
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function tryOut(policy: CompiledPolicy, sandbox: Sandbox, accessRequest: AccessRequest): Permission | Refusal {
  try {
    return rehearseRules(policy, sandbox, canonicalOf(accessRequest), new HeaderList());
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function canonicalOf({ scheme, host, port, method, path }: AccessRequest): CanonicalRequest {
  const authority = port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
  const url = `${scheme}://${authority}${encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23')}`;
  return canonicalise(asIfSent({ method, url, headers: {}, body: null }));
}
