// The batch request: which objects a sandbox wants to have or to bring. An upload needs push rights. The answer names the
// addresses of a storage and what opens them; the sandbox gets addresses of this door instead, and nothing else of it.

import * as z from 'zod';
import { enrich } from '../../../../path/enrich.ts';
import type { ResponseHead } from '../../../../path/exchange/exchange.ts';
import { type AnswerRewriter, RewrittenAnswer } from '../../../../path/exchange/rewritten-answer.ts';
import { addWrapper } from '../../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import type { CompiledPolicy } from '../../../../policy/compiled.ts';
import { BatchAnswer, type BatchAsked } from './lfs-batch-answer.ts';
import { readLfsBody, withLfsBody } from './lfs-body.ts';
import { requirePushRights } from './lfs-push-rights.ts';
import { notLfs, unsafeLfsAnswer } from './lfs-refusals.ts';
import type { LfsTickets } from './lfs-tickets.ts';

const maxBodyBytes = 4 * 1024 ** 2;
const maxObjects = 1000;

export const lfsRef = z.object({ name: z.string().max(1024) }).nullish();

const batchRequest = z.object({
  operation: z.enum(['download', 'upload']),
  objects: z
    .array(z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/, 'not a SHA-256'), size: z.int().nonnegative() }))
    .min(1)
    .max(maxObjects),
  transfers: z.array(z.string()).nullish(),
  ref: lfsRef,
  hash_algo: z.literal('sha256').nullish(),
});

export async function judgeLfsBatch(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  tickets: LfsTickets,
): Promise<Authorized> {
  const { operation, objects, transfers, ref, hash_algo } = await readLfsBody(flow, batchRequest, maxBodyBytes);
  const { repository, rawRepositoryPath } = permission.git!;
  const count = `${objects.length} object${objects.length === 1 ? '' : 's'}`;
  enrich(flow, { asked: `lfs-batch ${repository} ${operation} ${count}` });
  if (transfers != null && !transfers.includes('basic')) throw notLfs('transfers must name basic');
  const sizes = new Map(objects.map(({ oid, size }) => [oid, size]));
  if (sizes.size < objects.length) throw notLfs('objects names one of them twice');
  const refName = ref == null || ref.name === '' ? null : ref.name;
  if (operation === 'upload') requirePushRights(policy, flow.sandbox, refName, 'upload LFS objects');
  const asked: BatchAsked = {
    sandboxId: flow.sandbox.id,
    sandboxSince: flow.sandbox.createdAt,
    host: flow.canonical.host,
    port: flow.canonical.port,
    repository,
    rawRepositoryPath,
    operation,
    sizes,
  };
  const sent = withLfsBody(flow, permission, {
    operation,
    transfers: ['basic'],
    ...(refName === null ? {} : { ref: { name: refName } }),
    objects,
    ...(hash_algo == null ? {} : { hash_algo }),
  });
  return addWrapper(sent, 'rewritten', (inner) => {
    return new RewrittenAnswer(inner, (head) => rewriterFor(head, asked, tickets));
  });
}

/** An answer that is no batch (an error, a login page) is the client's to understand. */
function rewriterFor({ status, headers }: ResponseHead, asked: BatchAsked, tickets: LfsTickets): AnswerRewriter | null {
  if (status >= 300) return null;
  if (status !== 200) throw unsafeLfsAnswer(asked.host, `answered a batch with status ${status}`);
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw unsafeLfsAnswer(asked.host, 'compressed an answer that it was asked to send plain');
  }
  return new BatchAnswer(asked, tickets);
}
