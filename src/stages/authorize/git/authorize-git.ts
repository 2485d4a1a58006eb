// What is done with a request of git once its repository is allowed: a fetch goes on as it is, the advertisement for a
// push is made to ask for whole packs, a push and whatever LFS carries are judged by their bodies.

import { enrich } from '../../../path/enrich.ts';
import type { ResponseHead } from '../../../path/exchange/exchange.ts';
import { type AnswerRewriter, RewrittenAnswer } from '../../../path/exchange/rewritten-answer.ts';
import { addWrapper, payloadExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { granted } from '../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { AdvertisementRewriter, pushAdvertisementChange } from '../../../protocols/git/rewrite-advertisement.ts';
import { checkGitHead, withoutOwnProof } from './git-head.ts';
import { judgePush, type PushPorts } from './judge-push.ts';
import { judgeLfs } from './lfs/judge-lfs.ts';
import type { LfsTickets } from './lfs/lfs-tickets.ts';

export interface GitPorts extends PushPorts {
  readonly lfsTickets: LfsTickets;
}

const advertisementType = 'application/x-git-receive-pack-advertisement';

export function authorizeGit(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  ports: GitPorts,
): Promise<Authorized> | Authorized {
  const { operation, repository } = permission.git!;
  enrich(flow, { asked: `${operation} ${repository}` });
  switch (operation) {
    case 'advertise-upload':
      return enrich(flow, { permission: granted(permission), judgedFields: withoutOwnProof(flow.request) });
    case 'upload-pack':
      checkGitHead(flow.request, operation);
      return enrich(flow, { permission: granted(permission), judgedFields: withoutOwnProof(flow.request) });
    case 'advertise-receive':
      payloadExchange(flow);
      addWrapper(flow, 'rewritten', (inner) => {
        return new RewrittenAnswer(inner, (head) => withoutThinPacks(head, flow.canonical.host));
      });
      // Compressed it could not be read on its way back.
      return enrich(flow, {
        permission: granted(permission),
        judgedFields: withoutOwnProof(flow.request, ['accept-encoding']),
      });
    case 'receive-pack':
      return judgePush(flow, permission, policy, ports);
    default:
      return judgeLfs(flow, permission, policy, ports.lfsTickets);
  }
}

/** Anything else than an advertisement (a login page, a 404) is the client's to understand. */
function withoutThinPacks({ status, headers }: ResponseHead, host: string): AnswerRewriter | null {
  if (status !== 200 || headers.get('content-type') !== advertisementType) return null;
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    throw new Refusal('upstream.protocol', `${host} compressed an answer that it was asked to send plain`);
  }
  const rewriter = new AdvertisementRewriter(pushAdvertisementChange);
  return {
    feed: (chunk) => rewriter.feed(chunk),
    end: () => {
      rewriter.end();
      return [];
    },
  };
}
