// What is wrong with a push, and the one refusal that a push gets for all of it: in git's own words where the client
// can read them. One finding refuses the whole push.
import { Refusal, type RefusalCode } from '../../../path/refusal.ts';
import { isDeletion, type PushCommand } from '../../../protocols/git/push-command.ts';
import { renderRefusedPush } from '../../../protocols/git/report.ts';

export interface PushFinding {
  readonly code: RefusalCode;
  /** The ref it is about; null: the push as a whole. */
  readonly ref: string | null;
  readonly rule: string;
  /** What is refused, as a sentence without a full stop. */
  readonly message: string;
  /** The same in a few words, for git's list of refs. */
  readonly reason: string;
  readonly hint: string;
  readonly cause?: unknown;
}

export interface RefusedPushInput {
  readonly requestId: string;
  readonly host: string;
  readonly commands: readonly PushCommand[];
  readonly capabilities: ReadonlySet<string>;
  readonly findings: readonly PushFinding[];
}

export const resultContentType = 'application/x-git-receive-pack-result';

/** A person reads these: the first say enough. */
const maxShown = 20;

export function refusePush(input: RefusedPushInput): Refusal {
  const { findings, commands, capabilities } = input;
  const first = findings[0]!;
  const reasons = new Map<string, string>();
  for (const { ref, reason } of findings) if (ref !== null && !reasons.has(ref)) reasons.set(ref, reason);
  // One finding about the push as a whole is a reason for every ref that has none; a second says nothing more.
  const whole = findings.find(({ ref }) => ref === null);
  if (whole !== undefined) for (const { ref } of commands) if (!reasons.has(ref)) reasons.set(ref, whole.reason);
  const body = renderRefusedPush({ capabilities, commands, messages: messagesOf(input), reasons });
  const more = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`;
  return new Refusal(first.code, `${first.message}${more}`, {
    rule: first.rule,
    hint: first.hint,
    cause: first.cause,
    inProtocol: body === null ? null : { contentType: resultContentType, body },
  });
}

function messagesOf({ findings, host, requestId }: RefusedPushInput): string[] {
  const lines = [`Sallyport refused this push. Nothing of it was sent to ${host}.`, ''];
  const hints = new Set<string>();
  for (const { message, rule, hint } of findings.slice(0, maxShown)) {
    lines.push(`- ${message} (rule: ${rule})`);
    hints.add(hint);
  }
  if (findings.length > maxShown) lines.push(`- and ${findings.length - maxShown} more`);
  lines.push('', ...[...hints].map((hint) => `What to do: ${hint}`), `(request ${requestId})`);
  return lines;
}

/** For the journal: which refs a push moves, from where to where. */
export function describeCommands(commands: readonly PushCommand[]): string {
  const shown = commands.slice(0, 8).map((command) => {
    const to = isDeletion(command) ? 'deleted' : command.newId.slice(0, 12);
    return `${command.ref} ${command.oldId.slice(0, 12)}..${to}`;
  });
  const more = commands.length > shown.length ? [`and ${commands.length - shown.length} more`] : [];
  return [...shown, ...more].join(', ');
}
