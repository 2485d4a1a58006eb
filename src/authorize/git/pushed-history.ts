// The commits that a push brings, and where they touch what the server already has. What counts as already there is
// what the server's own branches and tags reach: an object store shared with forks holds commits of strangers too, and
// so do refs/pull. // Guards: threats.md T27
import type { Commit } from '../../git-wire/object-commit.ts';
import type { PackObjects } from '../../git-wire/pack-objects.ts';
import { isDeletion, type PushCommand } from '../../git-wire/push-command.ts';
import type { GitServer } from './git-server.ts';

export interface PushedHistory {
  /** Every commit that is new to the server's branches and tags, from the pack or not. */
  readonly commits: ReadonlyMap<string, Commit>;
  /** What the asked-for refs of the server lead to, by name. */
  readonly tips: ReadonlyMap<string, string>;
}

/** With more refs than this on the server, those that were not asked for by name are not counted as known. */
const maxKnownRefs = 20_000;

export async function findNewCommits(
  commands: readonly PushCommand[],
  objects: PackObjects,
  server: GitServer,
  prefixes: readonly string[],
): Promise<PushedHistory> {
  const boundary = boundaryOf(commands, objects);
  const tips = await tipsOf(server, prefixes);
  const commits = new Map(objects.commits);
  const known = new Set(tips.values());
  const unknown = boundary.filter((id) => !known.has(id));
  if (unknown.length === 0) return { commits, tips };
  let found = await server.commits(unknown, [...known]);
  if (found.size > 0) {
    // Perhaps another branch has them: only now is the whole list worth asking for.
    const all = new Set((await tipsOf(server, ['refs/heads/', 'refs/tags/'])).values());
    const haves = [...new Set([...known, ...all])].slice(0, maxKnownRefs);
    const left = unknown.filter((id) => !all.has(id));
    found = left.length === 0 ? new Map() : await server.commits(left, haves);
  }
  for (const [id, commit] of found) commits.set(id, commit);
  return { commits, tips };
}

/** What the pack leads to without holding it: parents of its commits, targets of its tags, and tips outside of it. */
function boundaryOf(commands: readonly PushCommand[], objects: PackObjects): string[] {
  const outside = new Set<string>();
  const add = (id: string): void => {
    if (objects.get(id) === null) outside.add(id);
  };
  for (const command of commands) if (!isDeletion(command)) add(command.newId);
  for (const { parents } of objects.commits.values()) for (const parent of parents) add(parent);
  for (const { target, targetType } of objects.tags.values()) {
    if (targetType === 'commit' || targetType === 'tag') add(target);
  }
  return [...outside];
}

async function tipsOf(server: GitServer, prefixes: readonly string[]): Promise<Map<string, string>> {
  const refs = await server.refs(prefixes);
  const own = refs.filter(({ name }) => name.startsWith('refs/heads/') || name.startsWith('refs/tags/'));
  return new Map(own.map(({ name, id, peeled }) => [name, peeled ?? id]));
}
