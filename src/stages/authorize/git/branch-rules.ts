// Which branches are protected, and which a sandbox may push to. `*` stays within a segment, `**` crosses them.

import { compileGlob, type Glob } from '../../../kit/text/glob.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { isRefName } from '../../../protocols/git/ref-name.ts';

/** The rule that protects it; null: none does. Cases are not told apart, because not every server does. */
export function isProtectedBranch(policy: CompiledPolicy, branch: string): string | null {
  const name = branch.toLowerCase();
  const at = policy.protectedBranches.findIndex((pattern) => pattern.covers(name));
  return at < 0 ? null : `policy.protected_branches[${at}]`;
}

/** Where protected branches can be found on a server, as beginnings of their refs. */
export function protectedPrefixes(policy: CompiledPolicy): string[] {
  const prefixes = policy.protectedBranches.map(({ text }) => `refs/heads/${text.replace(/\*.*$/s, '')}`);
  // A pattern that no branch can match is nowhere to be found.
  return prefixes.filter((prefix) => isRefName(`${prefix}x`));
}

/**
 * A bot pushes only what its `allowed_branches` cover; a pattern that begins with `refs/` is held against the whole name,
 * so that tags can be allowed too. A user pushes every branch and tag that no other rule is against.
 */
export function allowsRef(sandbox: Sandbox, ref: string): boolean {
  if (sandbox.authMode === 'user') return true;
  return patternsOf(sandbox).some((pattern) =>
    pattern.text.startsWith('refs/')
      ? pattern.covers(ref)
      : ref.startsWith('refs/heads/') && pattern.covers(ref.slice('refs/heads/'.length)),
  );
}

const compiled = new WeakMap<readonly string[], readonly Glob[]>();

/** A registration's list never changes: compiled once. */
function patternsOf({ allowedBranches }: Sandbox): readonly Glob[] {
  const known = compiled.get(allowedBranches);
  if (known !== undefined) return known;
  const patterns = allowedBranches.map(compileGlob);
  compiled.set(allowedBranches, patterns);
  return patterns;
}
