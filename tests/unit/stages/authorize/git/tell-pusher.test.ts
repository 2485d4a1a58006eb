import { describe, expect, test } from 'vitest';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { Identified } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { PushRoom } from '../../../../../src/stages/authorize/git/push-room.ts';
import { tellPusher } from '../../../../../src/stages/authorize/git/tell-pusher.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../../support/hand-made-flow.ts';
import { type ScriptedExchange, withBody } from '../../../path/exchange/scripted-exchange.ts';
import { ground, permission, strict, wordsOf } from './git-judged-push.ts';

const type = 'application/x-git-receive-pack-request';
const denied = new Refusal('approval.denied', 'a person said no', { rule: 'allow[0]', hint: 'Do without it.' });

const { good } = ground();
const withPushBytes = (pushBytes: number) => ({ ...strict, limits: { ...strict.limits, pushBytes } });

function told(exchange: ScriptedExchange, { contentType = type, policy = strict } = {}): Promise<Refusal> {
  const canonical = canonicalOf('POST', 'https://git.example.com/acme/widgets/git-receive-pack');
  const accepted = acceptedFlow(callerFrom(), canonical, { headers: HeaderList.from([['Content-Type', contentType]]) });
  const flow: Identified = { ...accepted, exchange, sandbox: sandboxWith() };
  return tellPusher(flow, permission, policy, denied, new PushRoom());
}

describe('a push that was not approved', () => {
  test('is refused with the same code, rule and hint, in words of git', async () => {
    const refusal = await told(withBody([good]));
    expect(refusal).toMatchObject({ code: 'approval.denied', rule: 'allow[0]', hint: 'Do without it.' });
    expect(refusal.inProtocol?.contentType).toBe('application/x-git-receive-pack-result');
    expect(wordsOf(refusal)).toContain('- a person said no (rule: allow[0])');
    expect(wordsOf(refusal)).toContain('ng refs/heads/sandbox/work not approved');
  });

  test.each([
    ['that is none', withBody([Buffer.from('not git at all')]), {}],
    ['that ends within its commands', withBody([good.subarray(0, 40)]), {}],
    ['under another type', withBody([good]), { contentType: 'text/plain' }],
    ['whose commands have no end', withBody([good]), { policy: withPushBytes(good.length - 1) }],
    ['that has no end', withBody([good, good, good]), { policy: withPushBytes(good.length) }],
  ])('%s is refused with a status', async (_what, exchange, how) => {
    expect(await told(exchange, how)).toBe(denied);
  });

  test('whose client is gone is nobody to tell', async () => {
    const exchange = withBody([good.subarray(0, 40)]);
    const telling = told(exchange);
    exchange.onAbandoned?.();
    await expect(telling).rejects.toBeInstanceOf(ClientGone);
  });
});
