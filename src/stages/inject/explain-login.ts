// A git server that asks for a login (401) where none of ours could go in. The sandbox's own never goes to a host of git, so
// git could only try again and say "Authentication failed": it is told why, and what to set.

import type { BodyWriter, Exchange, ResponseHead } from '../../path/exchange/exchange.ts';
import { ExchangeView } from '../../path/exchange/exchange-view.ts';
import type { Authorized } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import { toGiveRight } from '../../path/sandbox.ts';
import type { HostPlan } from './host-plan.ts';

export class ExplainedLogin extends ExchangeView {
  readonly #flow: Authorized;
  readonly #plan: HostPlan;

  constructor(inner: Exchange, flow: Authorized, plan: HostPlan) {
    super(inner);
    this.#flow = flow;
    this.#plan = plan;
  }

  override respond(head: ResponseHead): BodyWriter {
    if (head.status === 401) throw loginMissing(this.#flow, this.#plan);
    return this.inner.respond(head);
  }
}

const ownIsNotSent = "A login of the sandbox's own is not sent there";

function loginMissing({ canonical, permission, sandbox }: Authorized, plan: HostPlan): Refusal {
  const { host } = canonical;
  const asks = `${host} asks for a login, and this request has none`;
  if (permission.git !== null && permission.rule === 'git.public_fetch')
    return refusal(
      `${asks}: ${permission.git.repository} is not public, and not among the repositories of ${sandbox.id}`,
      'repos of the registration',
      `To allow it, ${toGiveRight(sandbox, 'repo', permission.git.repository)}.`,
    );
  const names = [...plan.credentials.keys()];
  if (names.length === 0)
    return refusal(
      `${asks}: no credential is configured for it. ${ownIsNotSent}`,
      'credentials (none covers the host)',
      `Add to sallyport.yaml under credentials:\n  my-git:\n    hosts: [${host}]\n    inject: {basic: {username: NAME}}\nthen: sallyport secret set my-git < FILE`,
    );
  const usable = names.find((name) => sandbox.credentials === null || sandbox.credentials.includes(name));
  if (usable === undefined)
    return refusal(
      `${asks}: ${sandbox.id} may not use the credential ${names.join(', ')}`,
      'credentials of the registration',
      `To allow it, ${toGiveRight(sandbox, 'credential', names[0] ?? '')}, beside those it has.`,
    );
  return refusal(
    `${asks}: the credential ${usable} is not set. ${ownIsNotSent}`,
    `credentials.${usable}`,
    `On the host of the gateway: sallyport secret set ${usable} < FILE. Or give credentials.${usable} a source in sallyport.yaml.`,
  );
}

function refusal(message: string, rule: string, hint: string): Refusal {
  return new Refusal('credential.missing', message, { rule, hint });
}
