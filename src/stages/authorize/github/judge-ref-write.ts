// Calls of GitHub's API that write a branch, a tag or a file, judged by the rules of a push: the same effect must not be
// had by another spelling. What such a call would do is read from its address and its body. // Guards: threats.md T27

import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { PackEntries } from '../../../protocols/git/objects/pack-entries.ts';
import { PackObjects } from '../../../protocols/git/objects/pack-objects.ts';
import { isObjectId, zeroId } from '../../../protocols/git/ref-name.ts';
import { isProtectedBranch } from '../git/branch-rules.ts';
import type { GitServer } from '../git/git-server.ts';
import { judgeCommands } from '../git/judge-commands.ts';
import { judgeContent } from '../git/judge-content.ts';
import { forced, judgeDescribed } from '../git/judge-described.ts';
import type { PushFinding } from '../git/push-finding.ts';
import { branchDoubt, pathDoubt, refDoubt } from './plain-names.ts';

/** What is needed to judge one call. */
export interface RefWrite {
  readonly policy: CompiledPolicy;
  readonly sandbox: Sandbox;
  readonly repository: string;
  readonly params: ReadonlyMap<string, string>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly server: GitServer;
  /** The pull request of this number: the branches it is from and to. */
  readonly pull: (number: string) => Promise<PullBranches>;
}

export interface PullBranches {
  /** `owner/name` of the repository that its branch is in. */
  readonly headRepository: string | null;
  readonly headBranch: string;
  readonly baseBranch: string;
}

type Judge = (write: RefWrite) => Promise<PushFinding[]> | PushFinding[];

const repo = '/repos/{owner}/{repo}';

/** By method and template. An operation with the effect `push` that is not here is refused. A tree is no ref yet: of it only the paths are read. */
const judges: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  [`PUT ${repo}/contents/{path}`, judgeFile],
  [`DELETE ${repo}/contents/{path}`, judgeFile],
  [`POST ${repo}/git/refs`, judgeNewRef],
  [`PATCH ${repo}/git/refs/{ref}`, judgeMovedRef],
  [`DELETE ${repo}/git/refs/{ref}`, judgeDeletedRef],
  [`POST ${repo}/git/trees`, judgeTree],
  [`POST ${repo}/merges`, judgeMerge],
  [`POST ${repo}/branches/{branch}/rename`, judgeRename],
  [`PUT ${repo}/pulls/{pull_number}/update-branch`, judgeUpdatedPull],
]);

/** Their judges never look at the body. */
const byAddress = new Set([`DELETE ${repo}/git/refs/{ref}`, `PUT ${repo}/pulls/{pull_number}/update-branch`]);

export function isJudgedByAddress(method: string, operation: string): boolean {
  return byAddress.has(`${method} ${operation}`);
}

export function findRefWriteJudge(method: string, operation: string): Judge | null {
  return judges.get(`${method} ${operation}`) ?? null;
}

/** The rules for moving a ref to a commit that is on the server; `newId` zero: deleting it. */
export async function judgeRefMoves(
  { policy, sandbox, server }: Pick<RefWrite, 'policy' | 'sandbox' | 'server'>,
  ref: string,
  newId: string,
  { isNew, force }: { readonly isNew: boolean; readonly force: boolean },
): Promise<PushFinding[]> {
  // By force the server compares nothing: what was judged may be gone when it acts.
  if (force && !policy.allowForcePush) return [forced(ref)];
  if (newId === zeroId) return judgeDescribed(policy, sandbox, { ref, becomes: 'deleted' });
  const oldId = isNew ? zeroId : await valueOfRef(server, ref);
  if (oldId === null) return [unreadable(`${ref} is not on the server`)];
  const commands = [{ oldId, newId, ref }];
  const findings = judgeCommands(policy, sandbox, commands);
  if (findings.length > 0) return findings;
  const empty = new PackObjects(new PackEntries(0), () => Promise.reject(new Error('an empty pack has no content')));
  await empty.resolve();
  return judgeContent(policy, sandbox, commands, empty, server);
}

/** A commit of GitHub's own making on top of a branch: nothing is rewritten, so the branch and the path decide. */
export function judgeFileWrite(
  { policy, sandbox }: Pick<RefWrite, 'policy' | 'sandbox'>,
  branch: string,
  paths: readonly string[],
): PushFinding[] {
  return judgeDescribed(policy, sandbox, { ref: `refs/heads/${branch}`, becomes: 'moved', paths });
}

function judgeFile(write: RefWrite): PushFinding[] {
  const { branch } = write.body;
  if (branch === undefined || branch === null)
    return [unreadable('name the branch as "branch" in the body: without it the default branch is written')];
  const path = write.params.get('path');
  const odd = oddNames(branchDoubt(branch), pathDoubt(path));
  return odd.length > 0 ? odd : judgeFileWrite(write, branch as string, [path!]);
}

async function judgeNewRef(write: RefWrite): Promise<PushFinding[]> {
  const { ref, sha } = write.body;
  const odd = oddNames(refDoubt(ref), isId(sha) ? null : noId);
  return odd.length > 0 ? odd : judgeRefMoves(write, ref as string, sha as string, { isNew: true, force: false });
}

async function judgeMovedRef(write: RefWrite): Promise<PushFinding[]> {
  const ref = `refs/${write.params.get('ref') ?? ''}`;
  const { sha, force = false } = write.body;
  const isForce = typeof force === 'boolean';
  const odd = oddNames(refDoubt(ref), isId(sha) ? null : noId, isForce ? null : 'give "force" as true or false');
  return odd.length > 0 ? odd : judgeRefMoves(write, ref, sha as string, { isNew: false, force: force === true });
}

async function judgeDeletedRef(write: RefWrite): Promise<PushFinding[]> {
  const ref = `refs/${write.params.get('ref') ?? ''}`;
  const odd = oddNames(refDoubt(ref));
  return odd.length > 0 ? odd : judgeRefMoves(write, ref, zeroId, { isNew: false, force: false });
}

function judgeTree({ body: { tree } }: RefWrite): PushFinding[] {
  // Without one GitHub refuses it by itself.
  if (tree === undefined) return [];
  const entries: unknown[] = Array.isArray(tree) ? tree : [tree];
  const doubt = entries.map((entry) => pathDoubt((entry as { path?: unknown } | null | undefined)?.path));
  return oddNames(doubt.find((one) => one !== null) ?? null);
}

/** What a merge brings along is not looked at commit by commit: so only from where others have let it in. */
function judgeMerge(write: RefWrite): PushFinding[] {
  const { base, head } = write.body;
  const odd = oddNames(branchDoubt(base), branchDoubt(head));
  return odd.length > 0 ? odd : judgeTakeover(write, base as string, head as string);
}

async function judgeUpdatedPull(write: RefWrite): Promise<PushFinding[]> {
  const pull = await write.pull(write.params.get('pull_number') ?? '');
  if (pull.headRepository?.toLowerCase() !== write.repository) {
    return [unreadable('its branch is in another repository')];
  }
  return judgeTakeover(write, pull.headBranch, pull.baseBranch);
}

/** `to` takes over what `from` has. */
export function judgeTakeover(write: Pick<RefWrite, 'policy' | 'sandbox'>, to: string, from: string): PushFinding[] {
  const findings = judgeFileWrite(write, to, []);
  if (write.policy.protectedPaths.length > 0 && isProtectedBranch(write.policy, from) === null) {
    findings.push({
      code: 'push.protected-path',
      ref: `refs/heads/${to}`,
      rule: 'policy.protected_paths',
      message: `a merge of ${from}, which is not a protected branch, could bring changes of protected paths`,
      reason: 'a merge from a branch that is not protected',
      hint: `Merge ${from} in a clone and push: there every commit can be judged.`,
    });
  }
  return findings;
}

function judgeRename(write: RefWrite): PushFinding[] {
  const from = write.params.get('branch');
  const to = write.body.new_name;
  const odd = oddNames(branchDoubt(from), to === undefined ? 'give the new name as "new_name"' : branchDoubt(to));
  if (odd.length > 0) return odd;
  return [
    ...judgeDescribed(write.policy, write.sandbox, { ref: `refs/heads/${from}`, becomes: 'deleted' }),
    ...judgeDescribed(write.policy, write.sandbox, { ref: `refs/heads/${to}`, becomes: 'created' }),
  ];
}

async function valueOfRef(server: GitServer, ref: string): Promise<string | null> {
  const refs = await server.refs([ref]);
  return refs.find(({ name }) => name === ref)?.id ?? null;
}

const noId = 'give "sha" as the id of a commit';

/** One finding for the first doubt there is. */
export function oddNames(...doubts: readonly (string | null)[]): PushFinding[] {
  const first = doubts.find((doubt) => doubt !== null);
  return first === undefined || first === null ? [] : [unreadable(first)];
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && isObjectId(value) && value !== zeroId;
}

function unreadable(what: string): PushFinding {
  return {
    code: 'push.undecided',
    ref: null,
    rule: 'built-in: what cannot be decided is refused',
    message: `what this call would write cannot be read from it: ${what}`,
    reason: 'could not be decided',
    hint: 'Say exactly which branch is to be written, or push it by git.',
  };
}
