// The one place where an effect on GitHub is allowed or not: by the policy's list for the sandbox's mode.
import { defaultEffects, type GithubEffect, githubEffects } from '../../../path/github-effects.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { AuthMode, Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';

export function allowsEffect(policy: CompiledPolicy, sandbox: Sandbox, effect: GithubEffect): boolean {
  return policy.githubEffects[sandbox.authMode].has(effect);
}

/** `asked` says what was asked for, e.g. `PUT /repos/o/r/pulls/1/merge`. */
export function demandEffect(policy: CompiledPolicy, sandbox: Sandbox, effect: GithubEffect, asked: string): void {
  if (!allowsEffect(policy, sandbox, effect)) throw effectNotAllowed(effect, asked, sandbox.authMode);
}

/** `mode` is that of the sandbox. */
export function effectNotAllowed(effect: GithubEffect, asked: string, mode: AuthMode): Refusal {
  const rule = `github.effects.${mode}`;
  // What is allowed by default is missing only where somebody blocked it, and a block wins over what is allowed.
  const change = defaultEffects.includes(effect)
    ? `take ${effect} out of ${rule}.block`
    : `github: {effects: {${mode}: {allow: [${effect}]}}}; what is under block there stays blocked`;
  return new Refusal('github.effect', `${asked} is not allowed: its effect is "${effect}" (${githubEffects[effect]})`, {
    rule,
    hint: `Ask a person to do it. The operator can allow it for all sandboxes of this mode: ${change}.`,
  });
}
