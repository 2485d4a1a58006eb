// What can be said about a push from its command list alone: which refs it touches, and how. Names every finding, not
// only the first. Whether a branch is rewritten, and which files change, is in judge-history.ts and judge-paths.ts.
import { type Sandbox, toGiveRight } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { isDeletion, type PushCommand } from '../../../protocols/git/push-command.ts';
import { zeroId } from '../../../protocols/git/ref-name.ts';
import { allowsRef, isProtectedBranch } from './branch-rules.ts';
import type { PushFinding } from './push-finding.ts';

const branches = 'refs/heads/';
const tags = 'refs/tags/';

/** What another command would take for a whole ref, for HEAD or for a commit. */
const misleading = /^refs\/(?:heads|tags)\/(?:refs\/.*|HEAD|[0-9a-f]{40})$/is;

/** The command is copied into a shell, which reads more in a name than git does. */
const isPlain = /^[\w./-]+$/;

export function judgeCommands(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  commands: readonly PushCommand[],
): PushFinding[] {
  return commands.flatMap((command) => judgeCommand(policy, sandbox, command));
}

/** Several rules may be against one command, and each is told. */
function judgeCommand(policy: CompiledPolicy, sandbox: Sandbox, command: PushCommand): PushFinding[] {
  const { ref } = command;
  if (!ref.startsWith(branches) && !ref.startsWith(tags)) return [outsideNamespaces(ref)];
  if (misleading.test(ref)) return [misleadingName(ref)];
  const findings = ref.startsWith(tags) ? judgeTag(command) : judgeBranch(policy, sandbox, command);
  if (findings.length === 0 && !allowsRef(sandbox, ref)) findings.push(notAllowed(policy, sandbox, ref));
  return findings;
}

function judgeTag({ ref, oldId }: PushCommand): PushFinding[] {
  if (oldId === zeroId) return [];
  return [
    {
      code: 'push.tag-moved',
      ref,
      rule: 'built-in: tags are never moved or deleted',
      message: `${ref} is on the server, and a tag stays where it is`,
      reason: 'tags are never moved or deleted',
      hint: 'Create a tag with a new name.',
    },
  ];
}

function judgeBranch(policy: CompiledPolicy, sandbox: Sandbox, command: PushCommand): PushFinding[] {
  const { ref } = command;
  const branch = ref.slice(branches.length);
  const findings: PushFinding[] = [];
  const rule = isProtectedBranch(policy, branch);
  if (rule !== null) {
    findings.push({
      code: 'push.protected-branch',
      ref,
      rule,
      message: `${branch} is a protected branch`,
      reason: 'protected branch',
      hint: instead(
        policy,
        sandbox,
        branch,
        (example) => `Push to a branch of your own, e.g. ${example}, and open a pull request.`,
      ),
    });
  }
  if (isDeletion(command) && !policy.allowBranchDeletion) {
    findings.push({
      code: 'push.deletion',
      ref,
      rule: 'policy.allow_branch_deletion',
      message: `this push would delete the branch ${branch}`,
      reason: 'branch deletion is not allowed',
      hint: 'Leave the branch, or ask a person to delete it. The operator can set policy.allow_branch_deletion.',
    });
  }
  return findings;
}

function outsideNamespaces(ref: string): PushFinding {
  return {
    code: 'push.namespace',
    ref,
    rule: 'built-in: branches and tags only',
    message: `${ref} is neither a branch nor a tag`,
    reason: 'only refs/heads/ and refs/tags/ can be pushed',
    hint: 'Push branches (refs/heads/…) and tags (refs/tags/…) only; not with --mirror.',
  };
}

function misleadingName(ref: string): PushFinding {
  return {
    code: 'push.namespace',
    ref,
    rule: 'built-in: a name that cannot be mistaken',
    message: `${ref} could be mistaken for another ref or for a commit`,
    reason: 'a misleading name',
    hint: 'Choose a name that does not begin with refs/, is not HEAD and does not look like a commit.',
  };
}

function notAllowed(policy: CompiledPolicy, sandbox: Sandbox, ref: string): PushFinding {
  const covered = sandbox.allowedBranches.join(', ') || 'none';
  const isTag = ref.startsWith(tags);
  const name = ref.slice(isTag ? tags.length : branches.length);
  return {
    code: 'push.branch-not-allowed',
    ref,
    rule: 'allowed_branches of the registration',
    message: `${isTag ? `the tag ${name}` : `the branch ${name}`} is not one that ${sandbox.id} may push`,
    reason: isTag ? 'a bot may not push this tag' : 'not one of its branches',
    hint: isTag
      ? `Ask a person to make the tag. It may push: ${covered}.`
      : instead(policy, sandbox, name, (example) => `Push to one of its branches (${covered}), e.g. ${example}.`),
  };
}

/** Says where to push with a command that would pass; or, where no branch is the sandbox's, who can change that. */
function instead(policy: CompiledPolicy, sandbox: Sandbox, branch: string, say: (example: string) => string): string {
  const patterns = sandbox.authMode === 'bot' ? sandbox.allowedBranches : ['work/*'];
  const own = patterns.map((text) => text.replace(/^refs\/heads\//, '')).filter((text) => !text.startsWith('refs/'));
  if (own.length === 0) return `It may push to none. To allow some, ${toGiveRight(sandbox, 'branch', 'sandbox/*')}.`;
  const last = branch.slice(branch.lastIndexOf('/') + 1);
  const name = isPlain.test(last) ? last : 'work';
  const passes = (one: string): boolean =>
    isPlain.test(one) &&
    !misleading.test(branches + one) &&
    isProtectedBranch(policy, one) === null &&
    allowsRef(sandbox, branches + one);
  const found = own.map((text) => text.replace(/\*+$/, name)).find(passes) ?? 'YOUR-BRANCH';
  return say(`\`git push origin HEAD:${found}\``);
}
