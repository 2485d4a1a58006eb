// Whether a sandbox may change what LFS keeps for a repository: only as far as it may push. The ref that git-lfs names is
// held against the same rules as a push to it; the push itself is judged again when it comes.
import { type Sandbox, toGiveRight } from '../../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../../policy/compiled.ts';
import { isRefName } from '../../../../protocols/git/ref-name.ts';
import { allowsRef, isProtectedBranch } from '../branch-rules.ts';
import { notAllowed } from './lfs-refusals.ts';

const branches = 'refs/heads/';
const tags = 'refs/tags/';

/** `ref` null: git-lfs named none. `what` completes "may not … for REF", e.g. `upload LFS objects`. */
export function requirePushRights(policy: CompiledPolicy, sandbox: Sandbox, ref: string | null, what: string): void {
  const covered = sandbox.allowedBranches.join(', ') || 'none';
  if (ref === null) {
    if (sandbox.authMode === 'user' || sandbox.allowedBranches.length > 0) return;
    throw notAllowed(
      `${sandbox.id} may not ${what}: it may not push to any branch`,
      'allowed_branches of the registration',
      `To allow it, ${toGiveRight(sandbox, 'branch', 'sandbox/*')}.`,
    );
  }
  if (!isRefName(ref) || !(ref.startsWith(branches) || ref.startsWith(tags))) {
    throw notAllowed(
      `${sandbox.id} may not ${what} for ${JSON.stringify(ref.slice(0, 200))}, which is neither a branch nor a tag`,
      'built-in: branches and tags only',
      'Push from a branch.',
    );
  }
  const rule = ref.startsWith(branches) ? isProtectedBranch(policy, ref.slice(branches.length)) : null;
  if (rule !== null) {
    throw notAllowed(
      `${sandbox.id} may not ${what} for ${ref}, which is protected`,
      rule,
      'Push to a branch of your own and open a pull request.',
    );
  }
  if (allowsRef(sandbox, ref)) return;
  throw notAllowed(
    `${sandbox.id} may not ${what} for ${ref}, which it may not push`,
    'allowed_branches of the registration',
    `Push to one of its branches (${covered}).`,
  );
}
