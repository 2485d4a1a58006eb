// What the policy says of a wish, today and if it were approved: asked of the very code that the path runs. Grants nothing.
import { canonicalise } from './accept/accept-stage.ts';
import { ApprovalsInForce } from './approvals/approvals-in-force.ts';
import type { JudgedWish } from './approvals/desk-ports.ts';
import { chooseCredential } from './authorize/credential-choice.ts';
import { decide } from './authorize/decide.ts';
import type { Wish } from './flow/approvals.ts';
import type { CanonicalRequest, Permission } from './flow/flow.ts';
import { HeaderList } from './flow/header-list.ts';
import { madeRequest } from './flow/made-request.ts';
import { Refusal } from './flow/refusal.ts';
import type { Sandbox } from './flow/sandbox.ts';
import type { CompiledPolicy } from './policy/compiled.ts';

export function judgeWish(policy: CompiledPolicy, inForce: ApprovalsInForce, sandbox: Sandbox, wish: Wish): JudgedWish {
  const today = tryOut(inForce.policyFor(policy, sandbox.id), sandbox, wish);
  const tunnel = !(today instanceof Refusal) && today.tunnel;
  const approved = new ApprovalsInForce();
  const { scheme, host, port, method, path } = wish;
  const credential = credentialOf(policy, sandbox, wish);
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
  const then = tryOut(approved.policyFor(policy, sandbox.id), sandbox, wish);
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
function credentialOf(policy: CompiledPolicy, sandbox: Sandbox, wish: Wish): string | null {
  try {
    return chooseCredential(policy, sandbox, canonicalOf(wish));
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function tryOut(policy: CompiledPolicy, sandbox: Sandbox, wish: Wish): Permission | Refusal {
  try {
    const canonical = canonicalOf(wish);
    const none = new HeaderList();
    if (canonical.scheme === 'https') {
      const admitted = decide(policy, sandbox, { ...canonical, kind: 'connect' }, none);
      if (admitted.tunnel) return decide(policy, sandbox, { ...canonical, kind: 'tunnel' }, none);
    }
    return decide(policy, sandbox, canonical, none);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function canonicalOf({ scheme, host, port, method, path }: Wish): CanonicalRequest {
  const authority = port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
  const url = `${scheme}://${authority}${encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23')}`;
  return canonicalise(madeRequest(scheme, method, url, HeaderList.from([['Host', authority]])));
}
