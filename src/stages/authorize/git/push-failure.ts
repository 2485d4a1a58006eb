// Why a push could not be judged, as a finding: in doubt the door stays shut, and says why. What an upstream said is for
// the operator; the sandbox gets our own words.

import { SpoolFull } from '../../../kit/files/spool.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { GitRemoteError } from '../../../protocols/git/git-remote-error.ts';
import { GitWireError, OtherObjectFormat } from '../../../protocols/git/git-wire-error.ts';
import { OverBudget } from '../../../protocols/git/objects/work-budget.ts';
import type { PushFinding } from './push-finding.ts';
import { PushTooLarge } from './receive-push.ts';

/** Throws what is a fault of our own. */
export function findingOf(error: unknown, policy: CompiledPolicy | null): PushFinding {
  if (error instanceof PushTooLarge) return tooLarge(error, policy);
  if (error instanceof SpoolFull) return spoolFull(error);
  if (error instanceof Refusal) return ofRefusal(error);
  if (error instanceof GitRemoteError) return noAnswer(error);
  if (error instanceof OverBudget) return tooMuchWork(error);
  if (error instanceof OtherObjectFormat) return otherFormat(error);
  if (error instanceof GitWireError) return error.code === 'malformed' ? malformed(error) : undecided(error);
  throw error;
}

function tooLarge(cause: PushTooLarge, policy: CompiledPolicy | null): PushFinding {
  const most = policy === null ? '' : ` of ${policy.limits.pushBytes} bytes`;
  return {
    code: 'limit.push-size',
    ref: null,
    rule: 'limits.push_bytes',
    message: `${cause.message}, the limit of this gateway`,
    reason: 'the push is too large',
    hint: `Push in parts: older commits first (\`git push origin COMMIT:refs/heads/BRANCH\`), or large files by Git LFS. The operator can raise limits.push_bytes${most}.`,
    cause,
  };
}

function spoolFull(cause: SpoolFull): PushFinding {
  return {
    code: 'limit.push-size',
    ref: null,
    rule: 'limits.spool_bytes',
    message: 'the gateway has no room left for pushes that wait to be judged',
    reason: 'no room at the gateway',
    hint: 'Try again when other pushes are done. The operator can raise limits.spool_bytes, or make room on its disk.',
    cause,
  };
}

/** What it would take to judge it, or what the sandbox has used of that by now. */
function tooMuchWork(cause: OverBudget): PushFinding {
  const inParts =
    'Push in parts: older commits first (`git push origin COMMIT:refs/heads/BRANCH`), after `git repack -adf` if the pack was made by other tools. A merge of very many branches, or a directory of very many entries, is made by a person elsewhere.';
  const wait = cause.retryAfterS === null ? '' : `Try again in ${cause.retryAfterS} seconds. `;
  return {
    code: 'limit.push-work',
    ref: null,
    rule:
      cause.retryAfterS === null
        ? 'built-in: what judging a push may cost'
        : 'built-in: what judging the pushes of a sandbox may cost',
    message: `this push takes too much to judge: ${cause.message}`,
    reason: 'too much to judge',
    hint: `${wait}${inParts}`,
    cause,
  };
}

/** What the way to the server refused: its credential, its address, its certificate. */
function ofRefusal(refusal: Refusal): PushFinding {
  const { code, rule, message, hint, cause } = refusal;
  return { code, ref: null, rule, message, reason: 'the server could not be asked', hint, cause };
}

function noAnswer(cause: GitRemoteError): PushFinding {
  return {
    ...undecided(cause),
    message: 'the server would not answer a question about this push, so it could not be judged',
  };
}

/** Fetching is not judged by its objects, so it works. */
function otherFormat(cause: OtherObjectFormat): PushFinding {
  return {
    code: 'push.undecided',
    ref: null,
    rule: 'built-in: what cannot be decided is refused',
    message: 'this is a SHA-256 repository, and the gateway can judge pushes to SHA-1 repositories alone',
    reason: 'SHA-256 repositories cannot be pushed to',
    hint: 'It can be cloned and fetched. Push it from outside the sandbox, or work in a repository made with `git init --object-format=sha1`.',
    cause,
  };
}

function malformed(cause: GitWireError): PushFinding {
  return {
    code: 'git.malformed',
    ref: null,
    rule: 'built-in: git as git speaks it',
    message: `this push cannot be read: ${cause.message}`,
    reason: 'the push cannot be read',
    hint: 'Push with an unmodified git client; `git fsck` tells what is wrong with the repository.',
    cause,
  };
}

function undecided(cause: GitWireError): PushFinding {
  return {
    code: 'push.undecided',
    ref: null,
    rule: 'built-in: what cannot be decided is refused',
    message: `whether this push may pass could not be decided: ${cause.message}`,
    reason: 'could not be decided',
    hint: 'Push fewer commits or refs at once. The operator finds the cause in the log of the gateway.',
    cause,
  };
}
