// `sallyport watch`: requests as they happen, and what waits for a person, answered with one key. While it runs somebody watches,
// so that questions can be asked. In a pipe: a line for each event, and no question is ever put to the reader.
import type { Command } from 'commander';
import type { Question, Verdict } from '../path/approvals.ts';
import type { CliContext } from './cli-context.ts';
import { describeRecord } from './logs.ts';
import { askedAddress } from './terminal/asked-address.ts';
import { printable } from './terminal/printable.ts';
import { wantsJson } from './terminal/wants-json.ts';
import { askGateway, followGateway } from './watch/follow-gateway.ts';
import { FullScreen, type ScreenOutput } from './watch/full-screen.ts';
import { renderFrame } from './watch/watch-frame.ts';
import { type Action, type FeedRecord, WatchView } from './watch/watch-view.ts';

const askAgainMs = 2_000;
/** For the seconds that questions have left. */
const tickMs = 1_000;

export function addWatchCommand(program: Command, context: CliContext): void {
  program
    .command('watch')
    .summary('requests as they happen, and what waits for your answer')
    .description(
      'Shows requests as they happen and what waits for a person, to be answered with a key. While it runs somebody watches, so that rules with `ask: true` can ask. In a pipe: one line for each event; with --json: one object.',
    )
    .addHelpText(
      'after',
      `
Keys:
  up, down  select a question     a  approve it once          d  deny it
  r  refused requests only        m  approve it, this path for this sandbox, for 15 minutes
  f  filter by words              p  pause the list           q  quit

Examples:
  sallyport watch
  sallyport watch | grep refused
  sallyport watch --json`,
    )
    .action(async (_options: object, command: Command) => {
      const json = wantsJson(command);
      const isScreen = process.stdout.isTTY === true && context.stdin.isTTY === true && context.env.TERM !== 'dumb';
      if (isScreen && !json) {
        return watchOnScreen(context, process.stdout);
      }
      await watchInLines(context, json, new AbortController().signal);
    });
}

export async function watchInLines(context: CliContext, json: boolean, signal: AbortSignal): Promise<void> {
  let wasLost = false;
  await followGateway(
    context.admin,
    {
      onEvent: (event) => context.print(json ? JSON.stringify(event) : describeEvent(context, event)),
      onGateway: () => {
        if (wasLost) context.say('sallyport: the gateway is there again');
        wasLost = false;
      },
      onLost: (message) => {
        if (!wasLost) context.say(`sallyport: ${printable(message)}`);
        wasLost = true;
      },
    },
    signal,
  );
}

export function describeEvent(context: Pick<CliContext, 'colors'>, { event, data }: FeedRecord): string {
  const { colors } = context;
  const about = (typeof data === 'object' && data !== null ? data : {}) as FeedRecord;
  if (event === 'request') return describeRecord(context, about);
  if (event === 'lost') return colors.red(`${printable(about.count)} events were left out: too many at once`);
  const id = printable(about.id);
  if (event === 'answered') return `${colors.cyan('answered')}  ${id}  ${verdictOf(about.verdict)}`;
  const question = about as unknown as Question;
  const { sandbox, rule, reason } = question;
  const asked = `${printable(sandbox)}  ${askedAddress(question)}  by ${printable(rule)}`;
  const why = typeof reason === 'string' ? `  "${printable(reason)}"` : '';
  return `${colors.yellow('question')}  ${id}  ${asked}${why}  answer with: sallyport approve ${id}`;
}

function verdictOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('granted' in value)) return '';
  const verdict = value as Verdict;
  return printable(verdict.granted ? verdict.how : `${verdict.why}${verdict.by === null ? '' : ` by ${verdict.by}`}`);
}

/** Until the person has seen enough. */
async function watchOnScreen(context: CliContext, stdout: ScreenOutput): Promise<void> {
  const { admin } = context;
  const view = new WatchView();
  const over = new AbortController();
  const screen = new FullScreen({
    stdin: context.stdin,
    stdout,
    frame: (size) => renderFrame(view, size, context.colors, Date.now()),
    onKeys: (chunk) => view.type(chunk, Date.now()).forEach(act),
  });
  const act = (action: Action): void => {
    if (action.do === 'quit') over.abort();
    if (action.do === 'answer') void answer(context, view, action).then(() => screen.redraw());
  };
  // Before the screen is taken: without a gateway there is nothing to see.
  view.gateway = await askGateway(admin);
  const timers = [
    setInterval(() => screen.redraw(), tickMs),
    setInterval(() => void askGateway(admin).then((gateway) => (view.gateway = gateway), ignored), askAgainMs),
  ];
  screen.open();
  try {
    await followGateway(
      admin,
      {
        onEvent: (event) => {
          view.hear(event, Date.now());
          screen.redraw();
        },
        onGateway: (gateway) => {
          view.gateway = gateway;
          view.message = 'connected';
          screen.redraw();
        },
        onLost: (message) => {
          view.startAnew(Date.now());
          view.message = message;
          screen.redraw();
        },
      },
      over.signal,
    );
  } finally {
    for (const timer of timers) clearInterval(timer);
    screen.close();
  }
}

async function answer(context: CliContext, view: WatchView, { id, body }: Action & { do: 'answer' }): Promise<void> {
  try {
    const { said } = await context.admin.call<{ said: string }>(
      'POST',
      `/internal/questions/${encodeURIComponent(id)}`,
      body,
    );
    view.message = said;
  } catch (error) {
    const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? ` ${error.hint}` : '';
    view.message = `${error instanceof Error ? error.message : String(error)}${hint}`;
  }
}

function ignored(): void {
  // The feed notices that the gateway is gone, and says so.
}
