// Writes what was learned into a configuration, on the user's word. One that may be a sandbox's work is written to only when the
// user has named it; what the user has had written is theirs from then on.
import { quoteIfNeeded } from '../../kit/text/shell-quote.ts';
import type { LearnedEdit } from '../../policy/learn/learned-edit.ts';
import type { LearnedSession } from '../../policy/learn/learned-sessions.ts';
import type { CliContext } from '../cli-context.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';

/** `named`: the file that the user has named. */
export async function planApplication(
  context: CliContext,
  session: LearnedSession,
  named: string | undefined,
): Promise<LearnedEdit> {
  const { planLearned } = await import('../../policy/learn/learned-edit.ts');
  const { thisMachine } = await import('../../policy/load/machine-files.ts');
  const file = named ?? session.config;
  if (named === undefined && file !== null) await refuseDoubtful(context, session, file);
  return planLearned(session, thisMachine(), file);
}

export async function applyLearned(context: CliContext, edit: LearnedEdit): Promise<void> {
  await edit.write();
  const { approveConfig } = await import('../../sandbox/traps/written-folders.ts');
  approveConfig(context.places.home, edit.file);
}

async function refuseDoubtful(context: CliContext, { sandbox }: LearnedSession, file: string): Promise<void> {
  const { doubtOf } = await import('../../sandbox/traps/written-folders.ts');
  const doubt = doubtOf(context.places.home, file);
  if (doubt === null) return;
  throw new CommandFailed(
    exitCode.usage,
    doubt.what,
    `Read it. If it is yours, name it: sallyport learn apply ${sandbox} --config ${quoteIfNeeded(file)}`,
  );
}
