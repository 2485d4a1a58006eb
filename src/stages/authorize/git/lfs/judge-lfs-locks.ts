// Locks of LFS files. Everybody who may read the repository may see them; taking and giving back one needs push rights;
// breaking somebody else's is never let through.

import * as z from 'zod';
import { enrich } from '../../../../path/enrich.ts';
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import { granted } from '../../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../../policy/compiled.ts';
import { withoutOwnProof } from '../git-head.ts';
import { lfsRef } from './judge-lfs-batch.ts';
import { readLfsBody, withLfsBody } from './lfs-body.ts';
import { requirePushRights } from './lfs-push-rights.ts';
import { notAllowed, notLfs } from './lfs-refusals.ts';

const maxBodyBytes = 64 * 1024;

const verifyRequest = z.object({
  cursor: z.string().max(1024).nullish(),
  limit: z.int().nonnegative().nullish(),
  ref: lfsRef,
});
const lockRequest = z.object({ path: z.string().min(1).max(4096), ref: lfsRef });
const unlockRequest = z.object({ force: z.boolean().nullish(), ref: lfsRef });

export function listLocks(flow: Identified, permission: Permission): Authorized {
  if (flow.exchange.requestFraming.kind !== 'none') throw notLfs('a GET has no body');
  return enrich(flow, { permission: granted(permission), judgedFields: withoutOwnProof(flow.request) });
}

export async function verifyLocks(flow: Identified, permission: Permission): Promise<Authorized> {
  const { cursor, limit, ref } = await readLfsBody(flow, verifyRequest, maxBodyBytes);
  return withLfsBody(flow, permission, { ...given({ cursor, limit }), ...refOf(ref) });
}

export async function takeLock(flow: Identified, permission: Permission, policy: CompiledPolicy): Promise<Authorized> {
  const { path, ref } = await readLfsBody(flow, lockRequest, maxBodyBytes);
  requirePushRights(policy, flow.sandbox, nameOf(ref), 'lock a file');
  return withLfsBody(flow, permission, { path, ...refOf(ref) });
}

export async function giveBackLock(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
): Promise<Authorized> {
  const { force, ref } = await readLfsBody(flow, unlockRequest, maxBodyBytes);
  requirePushRights(policy, flow.sandbox, nameOf(ref), 'unlock a file');
  if (force === true) {
    throw notAllowed(
      `${flow.sandbox.id} may not break a lock: it could be somebody else's`,
      'built-in: locks are not broken',
      'Unlock without --force, or ask the owner of the lock.',
    );
  }
  return withLfsBody(flow, permission, { force: false, ...refOf(ref) });
}

type Ref = z.output<typeof lfsRef>;

function nameOf(ref: Ref): string | null {
  return ref == null || ref.name === '' ? null : ref.name;
}

function refOf(ref: Ref): object {
  const name = nameOf(ref);
  return name === null ? {} : { ref: { name } };
}

function given(fields: Record<string, string | number | null | undefined>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}
