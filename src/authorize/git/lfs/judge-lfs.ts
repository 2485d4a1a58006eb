// Judges a request of git-lfs: whether the operation is allowed in this repository, and for whom a ticket is good.
import type { Authorized, Identified, Permission } from '../../../flow/flow.ts';
import { Refusal } from '../../../flow/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import type { LfsTickets } from './lfs-tickets.ts';

export function judgeLfs(
  _flow: Identified,
  _permission: Permission,
  _policy: CompiledPolicy,
  _tickets: LfsTickets,
): Promise<Authorized> | Authorized {
  throw new Refusal('repo.operation-not-judged', 'Git LFS is not served yet');
}
