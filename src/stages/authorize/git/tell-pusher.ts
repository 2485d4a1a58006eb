// A push that nobody approved is refused in git's own words: of a status git shows the number alone. Its commands are read
// for that and the rest is dropped, as git reads no answer before it has sent everything. Nothing is judged, kept or sent on.

import { enrich } from '../../../path/enrich.ts';
import { BodyPull } from '../../../path/exchange/body-pull.ts';
import { ClientGone } from '../../../path/exchange/client-gone.ts';
import { payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Identified, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { GitWireError } from '../../../protocols/git/git-wire-error.ts';
import { checkGitHead } from './git-head.ts';
import { describeCommands, refusePush } from './push-finding.ts';
import type { PushRoom } from './push-room.ts';
import { PushBody, PushTooLarge } from './receive-push.ts';

/** The same refusal, in words that git shows where it can be told so. */
export async function tellPusher(
  flow: Identified,
  { git }: Permission,
  policy: CompiledPolicy,
  refusal: Refusal,
  pushRoom: PushRoom,
): Promise<Refusal> {
  const reading = pushRoom.openForCommands(flow.sandbox.id);
  try {
    const { isCompressed } = checkGitHead(flow.request, 'receive-pack');
    const exchange = payloadExchange(flow);
    const pull = BodyPull.from(exchange);
    exchange.onAbandoned = () => pull.fail(new ClientGone());
    const body = new PushBody(pull, isCompressed, policy.limits.pushBytes, reading);
    const push = await body.readCommands();
    enrich(flow, { asked: `receive-pack ${git!.repository} ${describeCommands(push.commands)}` });
    if (!(await body.drain())) return refusal;
    const { code, rule, message, hint } = refusal;
    const finding = { code, ref: null, rule, message, reason: 'not approved', hint };
    return refusePush({ requestId: flow.requestId, host: flow.canonical.host, ...push, findings: [finding] });
  } catch (error) {
    // What cannot be read as a push, or has no end, is answered as any other request.
    if (error instanceof GitWireError || error instanceof PushTooLarge || error instanceof Refusal) return refusal;
    throw error;
  } finally {
    reading.close();
  }
}
