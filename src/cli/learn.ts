// `sallyport learn`: what sessions that ran with --learn needed, and the lines that would let the next one have it. Shows before
// it writes, and writes only when it is told to.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { LearnedSession, LearnedSessions } from '../policy/learn/learned-sessions.ts';
import type { CliContext } from './cli-context.ts';
import { countLines, describeLearned, shownPath } from './steps/learn-report.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { columns, printable } from './terminal/printable.ts';
import { agoInWords } from './terminal/time-in-words.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface FileOption {
  readonly config?: string;
}

const configFlag = ['--config <FILE>', 'this configuration (default: the one that was in force)'] as const;

export function addLearnCommand(program: Command, context: CliContext): void {
  const learn = program
    .command('learn')
    .summary('what sessions needed that the policy lacked')
    .description(
      'Sessions of `sallyport run --learn` may read public hosts that the policy does not know. This lists what they needed, ' +
        'shows the lines that would allow it, and adds them to the configuration.',
    )
    .addHelpText(
      'after',
      `
Examples:
  sallyport run --learn -- npm test                a session that learns
  sallyport learn                                  which there are
  sallyport learn show sbx_4f1c                    the lines it proposes
  sallyport learn apply sbx_4f1c                   add them to the configuration
  sallyport learn apply sbx_4f1c --config team.yaml`,
    )
    .action(async (_options: unknown, command: Command) => list(context, wantsJson(command)));
  learn
    .command('show')
    .description('Shows what a session needed, and the lines that would allow it. Writes nothing.')
    .argument('<id>', 'the sandbox')
    .option(...configFlag)
    .addHelpText('after', '\nExamples:\n  sallyport learn show sbx_4f1c')
    .action(async (id: string, options: FileOption, command: Command) => {
      const session = find(await openSessions(context), id);
      if (wantsJson(command)) return printJson(context, session);
      const edit = session.entries.length === 0 ? null : await plan(context, session, options);
      context.print(describeLearned(context, session, edit));
    });
  learn
    .command('apply')
    .description(
      'Adds the lines that a session proposes to the configuration, and forgets the proposal when all of it is there.',
    )
    .argument('<id>', 'the sandbox')
    .option(...configFlag)
    .addHelpText(
      'after',
      '\nExamples:\n  sallyport learn apply sbx_4f1c\n  sallyport learn apply sbx_4f1c --config ./sallyport.yaml',
    )
    .action(async (id: string, options: FileOption, command: Command) => {
      const sessions = await openSessions(context);
      const session = find(sessions, id);
      const edit = await plan(context, session, options);
      const json = wantsJson(command);
      if (!json) context.print(describeLearned(context, { ...session, refused: [] }, edit));
      const { applyLearned } = await import('./steps/apply-learned.ts');
      await applyLearned(context, edit);
      if (edit.leftOut.length === 0) sessions.forget(id);
      if (json) {
        const { file, line, count: added, added: text, leftOut: left_out } = edit;
        return printJson(context, { file, line, added, text, left_out });
      }
      if (edit.count > 0) context.print(`Added ${countLines(edit.count)} to ${shownPath(context, edit.file)}.`);
    });
  learn
    .command('forget')
    .description('Forgets what a session proposed.')
    .argument('<id>', 'the sandbox')
    .addHelpText('after', '\nExamples:\n  sallyport learn forget sbx_4f1c')
    .action(async (id: string) => {
      const sessions = await openSessions(context);
      sessions.forget(find(sessions, id).sandbox);
    });
}

async function list(context: CliContext, json: boolean): Promise<void> {
  const sessions = (await openSessions(context)).list();
  if (json) return printJson(context, { sessions });
  if (sessions.length === 0) {
    context.print('No session has proposed anything. Start one that learns: sallyport run --learn -- COMMAND');
    return;
  }
  const now = Date.now();
  const rows = sessions.map(({ sandbox, at, entries, refused, config, directory }) => [
    printable(sandbox),
    agoInWords(at, now),
    String(entries.length),
    String(refused.length),
    printable(config ?? `${directory}/sallyport.yaml (new)`),
  ]);
  for (const line of columns(['SANDBOX', 'WHEN', 'LINES', 'REFUSED', 'CONFIGURATION'], rows)) context.print(line);
}

async function openSessions(context: CliContext): Promise<LearnedSessions> {
  const { LearnedSessions } = await import('../policy/learn/learned-sessions.ts');
  return new LearnedSessions(context.places.home);
}

async function plan(context: CliContext, session: LearnedSession, { config }: FileOption) {
  const { planApplication } = await import('./steps/apply-learned.ts');
  return planApplication(context, session, config === undefined ? undefined : resolve(context.cwd, config));
}

function find(sessions: LearnedSessions, id: string): LearnedSession {
  const session = sessions.find(id);
  if (session !== null) return session;
  throw new CommandFailed(
    exitCode.failure,
    `no session ${printable(id)} has proposed anything`,
    'See which have: sallyport learn',
  );
}
