// What a push asks of its server beside moving refs. Options with a dot are orders to the forge: GitLab merges, sets
// variables of a pipeline or skips its own checks by them, GitHub Enterprise changes who may see a repository. Only those
// that do no more than a pull request does may pass; words without a dot (a topic) are the server's hooks to read.
import type { PushFinding } from './push-finding.ts';

const harmless = new Set([
  'ci.skip',
  'ci.no_pipeline',
  ...['create', 'target', 'title', 'description', 'draft', 'label', 'unlabel', 'assign', 'unassign', 'milestone'].map(
    (word) => `merge_request.${word}`,
  ),
]);

export function judgeOptions(options: readonly string[]): PushFinding[] {
  return options.filter((option) => !isHarmless(option)).map(refused);
}

function isHarmless(option: string): boolean {
  const name = nameOf(option);
  return !name.includes('.') || harmless.has(name);
}

function nameOf(option: string): string {
  return option.split('=', 1)[0]!.trim().toLowerCase();
}

function refused(option: string): PushFinding {
  return {
    code: 'push.option',
    ref: null,
    rule: 'built-in: push options that only describe',
    message: `the push option ${nameOf(option)} is an order to the server that is not judged here`,
    reason: 'a push option is not allowed',
    hint: 'Push without that option (-o), and ask a person for what it would have done.',
  };
}
