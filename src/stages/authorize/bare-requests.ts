// What a learning sandbox may send to a host that the policy does not know: a read without a body. A body or an upgraded
// connection could carry anything out while it looks like a read.
import type { Framing } from '../../path/exchange/exchange.ts';
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { Refusal, type RefusalCode } from '../../path/refusal.ts';

/** The rule of `gateway/approvals/learning-view.ts`: no entry of a document has such a name. */
const learningRule = 'learning';

export function refuseBareUpgrade({ kind, host }: CanonicalRequest): void {
  if (kind === 'websocket') throw onlyReads(`an upgraded connection to ${host} is not a read`, host);
}

/** Known from its head alone: nothing of the body has been drawn. */
export function refuseBareBody({ method, host }: CanonicalRequest, { rule }: Permission, framing: Framing): void {
  if (rule !== learningRule) return;
  if (framing.kind === 'none' || (framing.kind === 'length' && framing.bytes === 0)) return;
  throw onlyReads(`${method} with a body is not a read of ${host}`, host);
}

/** For what the one rule there does not cover: another method, plain http, another port. */
export function moreThanARead({ scheme, host, port }: CanonicalRequest, method: string): Refusal {
  return onlyReads(`${method} ${scheme}://${host}:${port} is not a read over https`, host);
}

/** The rule is not an entry of the policy, so there is no entry to add anything to. */
export function otherPort({ host, port }: CanonicalRequest): Refusal {
  return onlyReads(`port ${port} of ${host} is not allowed`, host, 'target.port');
}

function onlyReads(message: string, host: string, code: RefusalCode = 'method.not-allowed'): Refusal {
  return new Refusal(code, message, {
    rule: learningRule,
    hint: `The policy does not know ${host}: while it learns, a sandbox may GET and HEAD there over https on port 443, without a body. To allow more, add a rule for ${host} to sallyport.yaml, or ask a person: POST http://sallyport.internal/requests`,
  });
}
