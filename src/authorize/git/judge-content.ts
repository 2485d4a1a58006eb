// What moving refs would do, whoever moves them: is history rewritten, do new commits change protected paths. The same
// for a push, whose pack brings the commits, and for a call of an API, whose commits are on the server already.
import type { PackObjects } from '../../git-wire/pack-objects.ts';
import type { PushCommand } from '../../git-wire/push-command.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { protectedPrefixes } from './branch-rules.ts';
import type { GitServer } from './git-server.ts';
import { judgeHistory, judgeTips } from './judge-history.ts';
import { judgePaths } from './judge-paths.ts';
import type { PushFinding } from './push-finding.ts';
import { PushObjects } from './push-objects.ts';
import { findNewCommits } from './pushed-history.ts';

export async function judgeContent(
  policy: CompiledPolicy,
  commands: readonly PushCommand[],
  objects: PackObjects,
  server: GitServer,
): Promise<PushFinding[]> {
  await supplyBases(objects, server);
  const noCommits = judgeTips(commands, objects);
  if (noCommits.length > 0) return noCommits;
  // Each waits for answers of the server, none for the other's.
  const [rewrites, paths] = await Promise.all([
    policy.allowForcePush ? [] : judgeHistory(commands, objects, server),
    policy.protectedPaths.length === 0 ? [] : judgeNewCommits(policy, commands, objects, server),
  ]);
  return [...rewrites, ...paths];
}

async function judgeNewCommits(
  policy: CompiledPolicy,
  commands: readonly PushCommand[],
  objects: PackObjects,
  server: GitServer,
): Promise<PushFinding[]> {
  const named = commands.length > 100 ? ['refs/heads/'] : commands.map(({ ref }) => ref);
  const source = new PushObjects(objects, server);
  const [history] = await Promise.all([
    findNewCommits(commands, objects, server, [...named, ...protectedPrefixes(policy)]),
    // Almost always what is needed next, so it is asked for at the same time.
    source.prefetch(objects.commits),
  ]);
  return judgePaths(policy, source, history, server);
}

/** A thin pack leaves bases out that the server has. Until all are there a commit could hide behind one. */
async function supplyBases(objects: PackObjects, server: GitServer): Promise<void> {
  for (let missing = objects.missingBases; missing.length > 0; ) {
    for (const [id, { type, content }] of await server.objects(missing)) objects.supply(id, type, content);
    await objects.resolve();
    const left = objects.missingBases;
    if (left.length >= missing.length) throw new Error('the bases of a thin pack were supplied and are still missing');
    missing = left;
  }
}
