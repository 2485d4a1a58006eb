// A write to a ref that is described and not pushed: by a call of GitHub's API, or by a case of `sallyport policy test`. There
// is no pack to look into, so the ref and the paths that it names decide, by the rules of a push. // Guards: threats.md T27
import type { Glob } from '../../../kit/text/glob.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { zeroId } from '../../../protocols/git/ref-name.ts';
import { judgeCommands } from './judge-commands.ts';
import { isMove } from './judge-history.ts';
import type { PushFinding } from './push-finding.ts';

export interface DescribedWrite {
  readonly ref: string;
  /** What becomes of it; `rewritten`: what it points at now is no longer part of it. */
  readonly becomes: 'created' | 'moved' | 'rewritten' | 'deleted';
  /** The files that change, from the top of the repository. */
  readonly paths?: readonly string[];
}

/** They stand for commits that nobody looks at. */
const someId = '1'.repeat(40);
const otherId = '2'.repeat(40);

export function judgeDescribed(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  { ref, becomes, paths = [] }: DescribedWrite,
): PushFinding[] {
  const oldId = becomes === 'created' ? zeroId : someId;
  const command = { oldId, newId: becomes === 'deleted' ? zeroId : otherId, ref };
  const findings = judgeCommands(policy, sandbox, [command]);
  if (becomes === 'rewritten' && isMove(command) && !policy.allowForcePush) findings.push(forced(ref));
  for (const path of paths) {
    const lower = path.toLowerCase();
    const at = policy.protectedPaths.findIndex((glob) => glob.covers(lower) || leadsTo(lower, glob));
    if (at >= 0) findings.push(protectedPath(path, at));
  }
  return findings;
}

/** A file in the place of a directory that leads to protected paths takes them away. */
function leadsTo(path: string, { text }: Glob): boolean {
  return text.replace(/\*.*$/s, '').startsWith(`${path}/`);
}

export function forced(ref: string): PushFinding {
  return {
    code: 'push.force',
    ref,
    rule: 'policy.allow_force_push',
    message: `${ref} may not be moved by force`,
    reason: 'force is not allowed',
    hint: 'Leave "force" out, or write to a new branch. The operator can set policy.allow_force_push.',
  };
}

function protectedPath(path: string, at: number): PushFinding {
  return {
    code: 'push.protected-path',
    ref: null,
    rule: `policy.protected_paths[${at}]`,
    message: `${path} is a protected path`,
    reason: 'a protected path',
    hint: 'Leave it as it is, or ask a person to make that change.',
  };
}
