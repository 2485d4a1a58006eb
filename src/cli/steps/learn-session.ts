// `sallyport run --learn`: the sandbox learns from its first request on, and when it has ended, what it needed is proposed,
// applied on the user's word, or kept for `sallyport learn`. Whatever goes wrong here, the exit code stays the command's.

import type { HealthReport } from '../../gateway/admin/admin-ports.ts';
import type { AdminCaller } from '../../gateway/admin/every-gateway.ts';
import type { LearnedSession } from '../../policy/learn/learned-sessions.ts';
import type { CliContext, Input } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';
import { countLines, describeLearned, shownPath } from './learn-report.ts';

/** The gateway that the session ran with, as far as learning needs it. */
export interface LearnPort {
  start(sandbox: string): Promise<void>;
  /** The configuration in force: its file, or `embedded default`. */
  config(): Promise<string>;
  records(sandbox: string): AsyncIterable<Readonly<Record<string, unknown>>>;
}

/** More than any session that a person looks through. */
const maxRecords = 200_000;

/** `admin`: the gateway that serves the sandbox at that moment. */
export function learnBySocket(admin: () => AdminCaller): LearnPort {
  return {
    start: (sandbox) => admin().call('POST', '/internal/learning', { sandbox }),
    config: async () => (await admin().call<HealthReport>('GET', '/internal/health')).config,
    records: (sandbox) => admin().lines(`/internal/audit?sandbox=${encodeURIComponent(sandbox)}&limit=${maxRecords}`),
  };
}

export interface LearnOptions {
  /** Write without asking. */
  readonly apply: boolean;
  readonly quiet: boolean;
}

/** After the command has ended, while the gateway is still there. Never throws. */
export async function concludeSession(
  context: CliContext,
  port: LearnPort,
  sandbox: string,
  options: LearnOptions,
): Promise<void> {
  try {
    await settle(context, await sessionOf(context, port, sandbox), options);
  } catch (error) {
    const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? ` ${error.hint}` : '';
    const why = error instanceof Error ? error.message : String(error);
    context.say(`sallyport: nothing was written: ${printable(why)}.${printable(hint)}`);
  }
}

async function sessionOf(context: CliContext, port: LearnPort, sandbox: string): Promise<LearnedSession> {
  const { conclude } = await import('../../policy/learn/conclude.ts');
  const { loadPolicy } = await import('../../policy/load/load-policy.ts');
  const { thisMachine } = await import('../../policy/load/machine-files.ts');
  const machine = thisMachine();
  const config = await port.config();
  const file = config.startsWith('/') ? config : null;
  const loaded = await loadPolicy(file, machine);
  if (!loaded.ok) throw new Error(`the configuration ${config} of the gateway cannot be read from here`);
  const { policy } = loaded;
  const records = port.records(sandbox);
  return conclude({ sandbox, directory: context.cwd, policy, records, machine, now: new Date() });
}

async function settle(context: CliContext, session: LearnedSession, { apply, quiet }: LearnOptions): Promise<void> {
  const { LearnedSessions } = await import('../../policy/learn/learned-sessions.ts');
  const { applyLearned, planApplication } = await import('./apply-learned.ts');
  const say = (text: string): void => {
    if (!quiet) context.say(text);
  };
  if (session.entries.length === 0) return say(describeLearned(context, session, null));
  // Kept first: whatever happens to the file, what was learned is not lost.
  const kept = new LearnedSessions(context.places.home);
  await kept.keep(session);
  const edit = await planApplication(context, session, undefined);
  say(describeLearned(context, session, edit));
  const file = shownPath(context, edit.file);
  const lines = edit.count === 1 ? 'this line' : `these ${countLines(edit.count)}`;
  if (edit.count > 0 && !(apply || (await isWanted(context, quiet, `Add ${lines} to ${file}?`)))) {
    return say(`Kept. Add them later with: sallyport learn apply ${session.sandbox}`);
  }
  await applyLearned(context, edit);
  if (edit.leftOut.length === 0) kept.forget(session.sandbox);
  if (edit.count > 0) say(`Added ${countLines(edit.count)} to ${file}.`);
}

async function isWanted(context: CliContext, quiet: boolean, question: string): Promise<boolean> {
  if (quiet || !context.isTerminal || context.stdin.isTTY !== true) return false;
  await dropTypedAhead(context.stdin);
  const { openQuestions } = await import('../terminal/ask-person.ts');
  const questions = openQuestions(context.stdin, (text) => context.say(text.trimEnd()));
  try {
    return await questions.askYesOrNo(question, false);
  } catch {
    return false;
  } finally {
    questions.close();
  }
}

const typedAheadMs = 50;

/** What was typed for the command, or by it (a terminal can be made to answer), is no answer to us. */
async function dropTypedAhead(stdin: Input): Promise<void> {
  const drop = (): void => {};
  stdin.on('data', drop);
  await new Promise((resolve) => setTimeout(resolve, typedAheadMs));
  stdin.pause();
  stdin.removeListener('data', drop);
}
