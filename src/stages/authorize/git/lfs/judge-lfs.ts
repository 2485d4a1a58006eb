// Judges a request of git-lfs: whether the operation is allowed in this repository, and for whom a ticket is good.
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import type { CompiledPolicy } from '../../../../policy/compiled.ts';
import { judgeLfsBatch } from './judge-lfs-batch.ts';
import { giveBackLock, listLocks, takeLock, verifyLocks } from './judge-lfs-locks.ts';
import { judgeLfsObject } from './judge-lfs-object.ts';
import { notAllowed, notLfs } from './lfs-refusals.ts';
import type { LfsTickets } from './lfs-tickets.ts';

export function judgeLfs(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  tickets: LfsTickets,
): Promise<Authorized> | Authorized {
  const { kind, scheme } = flow.canonical;
  if (kind !== 'http') throw notLfs('it does not switch protocols');
  if (scheme !== 'https') {
    // The answer would show what opens the storage to everybody on the way.
    throw notAllowed('LFS is served over https only', 'built-in: LFS over https', 'Use the https address.');
  }
  switch (permission.git!.operation) {
    case 'lfs-batch':
      return judgeLfsBatch(flow, permission, policy, tickets);
    case 'lfs-object':
      return judgeLfsObject(flow, permission, tickets);
    case 'lfs-locks':
      return listLocks(flow, permission);
    case 'lfs-verify-locks':
      return verifyLocks(flow, permission);
    case 'lfs-lock':
      return takeLock(flow, permission, policy);
    case 'lfs-unlock':
      return giveBackLock(flow, permission, policy);
    default:
      throw notLfs('its address is not one of LFS');
  }
}
