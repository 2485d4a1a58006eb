// What moving refs would do, whoever moves them: is history rewritten, do new commits change protected paths. The same
// for a push, whose pack brings the commits, and for a call of an API, whose commits are on the server already.
import { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import type { RemoteRef } from '../../../protocols/git/fetch-v2.ts';
import { GitRemoteError } from '../../../protocols/git/git-remote-error.ts';
import type { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { WorkBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { PushCommand } from '../../../protocols/git/push-command.ts';
import { protectedPrefixes } from './branch-rules.ts';
import type { GitServer, RemoteObject } from './git-server.ts';
import { judgeHistory } from './judge-history.ts';
import { judgePaths } from './judge-paths.ts';
import { judgeAliases, judgeTips, namesDecide } from './judge-tips.ts';
import type { PushFinding } from './push-finding.ts';
import { PushObjects } from './push-objects.ts';
import { findNewCommits } from './pushed-history.ts';

/** Bases of a thin pack that are asked for one by one. */
const maxSingleBases = 64;

/** The refs of the server that a decision about these commands needs: one question. */
export function refsAbout(
  policy: CompiledPolicy,
  commands: readonly PushCommand[],
  server: GitServer,
): Promise<readonly RemoteRef[]> {
  const named = commands.length > 100 ? ['refs/heads/', 'refs/tags/'] : commands.map(({ ref }) => ref);
  return server.refs([...named, ...protectedPrefixes(policy)]);
}

export async function judgeContent(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  commands: readonly PushCommand[],
  objects: PackObjects,
  server: GitServer,
  budget = new WorkBudget(),
): Promise<PushFinding[]> {
  await supplyBases(objects, server);
  const source = new PushObjects(objects, server, budget);
  const judgesPaths = policy.protectedPaths.length > 0;
  const [refs] = await Promise.all([
    judgesPaths || namesDecide(policy, sandbox, commands) ? refsAbout(policy, commands, server) : [],
    // Almost always what is needed next, so it is asked for at the same time.
    judgesPaths ? source.prefetch(objects.commits) : null,
  ]);
  const names = [
    ...judgeAliases(policy, sandbox, commands, refs),
    ...(await judgeTips(commands, objects, refs, server)),
  ];
  if (names.length > 0) return names;
  // Each waits for answers of the server, none for the other's.
  const [rewrites, paths] = await Promise.all([
    policy.allowForcePush ? [] : judgeHistory(commands, objects, server, budget),
    judgesPaths ? judgeNewCommits(policy, commands, objects, source, refs, server, budget) : [],
  ]);
  return [...rewrites, ...paths];
}

async function judgeNewCommits(
  policy: CompiledPolicy,
  commands: readonly PushCommand[],
  objects: PackObjects,
  source: PushObjects,
  refs: readonly RemoteRef[],
  server: GitServer,
  budget: WorkBudget,
): Promise<PushFinding[]> {
  const history = await findNewCommits(commands, objects, refs, server, budget);
  return judgePaths(policy, source, history, server, budget);
}

/** A thin pack leaves bases out that the server has. Until all are there a commit could hide behind one. */
async function supplyBases(objects: PackObjects, server: GitServer): Promise<void> {
  for (let missing = objects.missingBases; missing.length > 0; ) {
    for (const [id, { type, content }] of await basesFrom(server, missing)) objects.supply(id, type, content);
    await objects.resolve();
    const left = objects.missingBases;
    if (left.length >= missing.length) throw new Error('the bases of a thin pack were supplied and are still missing');
    missing = left;
  }
}

/** A base may be in the pack itself, as a delta on another that is missing too: then the server does not have it yet. */
async function basesFrom(server: GitServer, ids: readonly string[]): Promise<Map<string, RemoteObject>> {
  const found = new Map<string, RemoteObject>();
  const refused = await takeFrom(server, ids, found);
  if (refused === null) return found;
  if (ids.length > maxSingleBases) throw refused;
  for (const id of ids) await takeFrom(server, [id], found);
  if (found.size === 0) throw refused;
  return found;
}

/** The refusal of a server that does not have one of them; null: it had all. */
async function takeFrom(
  server: GitServer,
  ids: readonly string[],
  found: Map<string, RemoteObject>,
): Promise<Error | null> {
  try {
    for (const [id, object] of await server.objects(ids)) found.set(id, object);
    return null;
  } catch (error) {
    const isNo = error instanceof GitRemoteError || (error instanceof Refusal && error.code === 'push.undecided');
    if (isNo) return error;
    throw error;
  }
}
