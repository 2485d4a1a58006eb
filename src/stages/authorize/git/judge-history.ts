// Whether a push rewrites a branch. Computed from ancestry: force is not marked on the wire. The commits of the push come
// from its pack; where the walk leaves the pack, the server is asked. Never says yes without a path of parents.
import { AncestryMemo, boundaryAnswer, isFastForward } from '../../../protocols/git/objects/ancestry.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { PushCommand } from '../../../protocols/git/push-command.ts';
import { zeroId } from '../../../protocols/git/ref-name.ts';
import type { GitServer } from './git-server.ts';
import type { PushFinding } from './push-finding.ts';

/** A branch that was there and will be there. Only these can be rewritten. */
export function isMove({ oldId, newId, ref }: PushCommand): boolean {
  return ref.startsWith('refs/heads/') && oldId !== zeroId && newId !== zeroId;
}

export async function judgeHistory(
  commands: readonly PushCommand[],
  objects: PackObjects,
  server: GitServer,
  budget = new WorkBudget(),
): Promise<PushFinding[]> {
  const memo = new AncestryMemo({}, budget);
  const boundary = async (b: string, old: string): Promise<boolean> => {
    const between = await server.commits([b], [old]);
    return boundaryAnswer(between, b, old, memo);
  };
  const commits = (oid: string) => objects.commits.get(oid) ?? null;
  const findings: PushFinding[] = [];
  for (const command of commands) {
    if (!isMove(command)) continue;
    const { oldId, newId } = command;
    const ancestry = await isFastForward({ oldId, newId, commits, boundary, memo });
    if (ancestry === 'not-fast-forward') findings.push(rewritten(command));
  }
  return findings;
}

function rewritten({ ref, oldId }: PushCommand): PushFinding {
  const branch = ref.slice('refs/heads/'.length);
  return {
    code: 'push.force',
    ref,
    rule: 'policy.allow_force_push',
    message: `this push would rewrite ${branch}: ${oldId.slice(0, 12)}, its tip on the server, would no longer be part of it`,
    reason: 'not a fast-forward',
    hint: `Merge instead (\`git fetch origin && git merge ${oldId.slice(0, 12)}\`), or push to a new branch. The operator can set policy.allow_force_push.`,
  };
}
