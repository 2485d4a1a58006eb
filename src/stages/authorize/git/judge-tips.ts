// Where refs are moved to and under which name: a branch names a commit, and a branch of the server that is only another
// name for a second one is judged as that one too.
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import type { RemoteRef } from '../../../protocols/git/fetch-v2.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { isDeletion, type PushCommand } from '../../../protocols/git/push-command.ts';
import { zeroId } from '../../../protocols/git/ref-name.ts';
import type { GitServer } from './git-server.ts';
import { judgeCommands } from './judge-commands.ts';
import type { PushFinding } from './push-finding.ts';

/** Only a ref that is there can be another name for something. */
function mayBeAlias({ oldId }: PushCommand): boolean {
  return oldId !== zeroId;
}

/**
 * Whether it matters for which other name a ref stands: where every branch is the sandbox's to move, it does not, and the
 * server need not be asked.
 */
export function namesDecide(policy: CompiledPolicy, sandbox: Sandbox, commands: readonly PushCommand[]): boolean {
  const anyBranch = policy.protectedBranches.length === 0 && sandbox.authMode === 'user';
  return !anyBranch && commands.some(mayBeAlias);
}

export function judgeAliases(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  commands: readonly PushCommand[],
  refs: readonly RemoteRef[],
): PushFinding[] {
  const targets = new Map(refs.map(({ name, symrefTarget }) => [name, symrefTarget]));
  return commands.filter(mayBeAlias).flatMap((command) => {
    const target = targets.get(command.ref) ?? null;
    if (target === null) return [];
    return judgeCommands(policy, sandbox, [{ ...command, ref: target }]).map((finding) => ({
      ...finding,
      ref: command.ref,
      message: `${command.ref} is another name for ${target} on the server: ${finding.message}`,
    }));
  });
}

/** A branch that names a tag, a tree or a blob has no history that could be judged. */
export async function judgeTips(
  commands: readonly PushCommand[],
  objects: PackObjects,
  refs: readonly RemoteRef[],
  server: GitServer,
): Promise<PushFinding[]> {
  const branches = commands.filter((command) => command.ref.startsWith('refs/heads/') && !isDeletion(command));
  const others = new Set(branches.map(({ newId }) => newId).filter((id) => !objects.commits.has(id)));
  const wrong = await objects.blobsAmong(others);
  for (const id of others) if (objects.get(id) !== null) wrong.add(id);
  // What a branch of the server is at is a commit.
  const known = new Set(refs.filter(({ name }) => name.startsWith('refs/heads/')).map(({ id }) => id));
  const open = [...others].filter((id) => !wrong.has(id) && !known.has(id));
  if (open.length > 0) {
    for (const [id, { type }] of await server.objects(open)) if (type !== 'commit') wrong.add(id);
  }
  return branches.filter(({ newId }) => wrong.has(newId)).map(({ ref }) => noCommit(ref));
}

function noCommit(ref: string): PushFinding {
  return {
    code: 'push.namespace',
    ref,
    rule: 'built-in: a branch is a commit',
    message: `${ref} would name something that is not a commit`,
    reason: 'a branch must be a commit',
    hint: 'Push a commit to the branch; push an annotated tag to refs/tags/.',
  };
}
