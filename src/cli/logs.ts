// `sallyport logs`: the journal in columns a person can read, newest last. What a sandbox wrote into a path or a host
// name is made harmless before it reaches the terminal.
import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { AdminClient, GatewayUnreachable } from '../gateway/admin/admin-client.ts';
import { inOrderOfTime } from '../gateway/admin/every-gateway.ts';
import { homesWithJournals } from '../kit/files/gateway-homes.ts';
import { placesIn } from '../kit/files/home.ts';
import type { CliContext } from './cli-context.ts';
import { printable } from './terminal/printable.ts';
import { wantsJson } from './terminal/wants-json.ts';

interface LogsOptions {
  readonly output?: string;
  readonly follow?: boolean;
  readonly sandbox?: string;
  readonly refused?: boolean;
  readonly lines: number;
}

export function addLogsCommand(program: Command, context: CliContext): void {
  program
    .command('logs')
    .summary('what went through the door, and what did not')
    .description('Prints the journal of requests, newest last. With --json: one record per line.')
    .option('-f, --follow', 'keep printing requests as they happen')
    .option('--sandbox <ID>', 'only requests of this sandbox')
    .option('--refused', 'refusals only')
    .option('--output <ID>', 'what the command of a sandbox in the background has printed, by id or name')
    .option('-n, --lines <N>', 'begin with the last N', asCount, 50)
    .addHelpText('after', '\nExamples:\n  sallyport logs -f\n  sallyport logs --refused --sandbox sbx_4f1c -n 200')
    .action(async (options: LogsOptions, command: Command) => {
      if (options.output !== undefined) {
        const { printOutput } = await import('./running/print-output.ts');
        return printOutput(context, options.output);
      }
      const query = new URLSearchParams({ limit: String(options.lines) });
      if (options.sandbox !== undefined) query.set('sandbox', options.sandbox);
      if (options.refused === true) query.set('refused', '1');
      if (options.follow === true) query.set('follow', '1');
      const json = wantsJson(command);
      let isEmpty = true;
      for await (const record of readRecords(context, options, query)) {
        isEmpty = false;
        context.print(json ? JSON.stringify(record) : describeRecord(context, record));
        await context.untilTaken();
      }
      if (isEmpty && options.follow !== true) context.say(noRecords(context, options));
    });
}

function noRecords({ places }: CliContext, { sandbox, refused }: LogsOptions): string {
  const which = [refused === true ? 'of a refusal' : '', sandbox === undefined ? '' : `of ${printable(sandbox)}`];
  const asked = which.filter((one) => one !== '').join(' ');
  if (asked !== '') return `There is no record ${asked}. All records: sallyport logs`;
  const place = `Records are kept in ${printable(places.journalDirectory)}.`;
  return `There are no records yet: nothing has gone through a door here. ${place}\nTo see some: sallyport run -- COMMAND, or sallyport demo`;
}

/** Of the gateways that run, and what those that have ended left on disk. */
async function* readRecords(context: CliContext, options: LogsOptions, query: URLSearchParams): AsyncGenerator<Shown> {
  if (options.follow === true) {
    yield* followRecords(context, options, query);
    return;
  }
  const homes = homesWithJournals(context.places.home);
  if (homes.length === 1) {
    yield* recordsIn(context.places.home, options, query);
    return;
  }
  const outcomes = await Promise.allSettled(homes.map((home) => gathered(recordsIn(home, options, query))));
  const [first] = outcomes;
  const found = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  if (first?.status === 'rejected') throw first.reason;
  if (options.lines > 0) yield* inOrderOfTime(found).slice(-options.lines);
}

type Shown = Readonly<Record<string, unknown>>;

async function* recordsIn(home: string, options: LogsOptions, query: URLSearchParams): AsyncGenerator<Shown> {
  const { adminSocket, journalDirectory } = placesIn(home);
  try {
    yield* new AdminClient(adminSocket).lines(`/internal/audit?${query}`);
  } catch (error) {
    if (!(error instanceof GatewayUnreachable)) throw error;
    // Neither a gateway nor a journal: there are no records, which is said.
    if (!existsSync(journalDirectory)) return;
    for await (const entry of await readDisk(journalDirectory, options)) yield { ...entry };
  }
}

async function gathered(records: AsyncIterable<Shown>): Promise<Shown[]> {
  const found: Shown[] = [];
  for await (const record of records) found.push(record);
  return found;
}

/** Where none runs, what the next will write where the first always does. */
async function* followRecords(
  context: CliContext,
  options: LogsOptions,
  query: URLSearchParams,
): AsyncGenerator<Shown> {
  const { journalDirectory } = context.places;
  let lines = options.lines;
  try {
    for await (const record of context.admin.lines(`/internal/audit?${query}`)) {
      lines = 0;
      yield record;
    }
  } catch (error) {
    if (!(error instanceof GatewayUnreachable) || !existsSync(journalDirectory)) throw error;
    for await (const entry of await readDisk(journalDirectory, { ...options, lines })) yield { ...entry };
  }
}

async function readDisk(directory: string, options: LogsOptions): Promise<AsyncIterable<object>> {
  const { readJournal } = await import('../stages/audit/journal/read-journal.ts');
  return readJournal(directory, {
    sandbox: options.sandbox ?? null,
    refusedOnly: options.refused === true,
    limit: options.lines,
    follow: options.follow === true,
  });
}

export function describeRecord(context: Pick<CliContext, 'colors'>, record: Readonly<Record<string, unknown>>): string {
  const { colors } = context;
  const time = printable(record.time).replace(/\.\d+Z$/, 'Z');
  if (record.note === 'approval') {
    const by = typeof record.by === 'string' ? [`by ${printable(record.by)}`] : [];
    const answer = [colors.cyan(printable(record.answer)), printable(record.text), ...by];
    return [colors.dim(time), printable(record.sandbox).padEnd(16), ...answer].join('  ');
  }
  // The journal speaks of itself: recovered after a crash, records that could not be kept.
  if (typeof record.note === 'string')
    return `${colors.dim(time)}  ${colors.red('journal')}  ${printable(record.text)}`;
  const verdict = printable(record.verdict);
  const paint = verdict === 'allowed' ? colors.green : verdict === 'refused' ? colors.yellow : colors.red;
  const cells = [
    colors.dim(time),
    printable(record.sandbox ?? '-').padEnd(16),
    paint(verdict.padEnd(9)),
    printable(record.status).padStart(3),
    printable(record.method).padEnd(6),
    describeTarget(record),
    ...describeReason(record),
  ];
  if (typeof record.ms === 'number') cells.push(colors.dim(`${record.ms.toFixed(1)} ms`));
  return cells.filter((cell) => cell !== '').join('  ');
}

function describeTarget(record: Readonly<Record<string, unknown>>): string {
  if (record.scheme === 'tcp') return printable(`tcp://${record.host ?? ''}:${record.port ?? ''}`);
  const scheme = record.scheme === 'http' ? 'http://' : '';
  const usual = record.scheme === 'http' ? 80 : 443;
  const port = record.port === usual || record.port === undefined || record.port === null ? '' : `:${record.port}`;
  const query = typeof record.query === 'string' ? `?${record.query}` : '';
  return printable(`${scheme}${record.host ?? ''}${port}${record.path ?? ''}${query}`);
}

function describeReason(record: Readonly<Record<string, unknown>>): string[] {
  const incident = typeof record.incident === 'string' ? [`incident: ${printable(record.incident)}`] : [];
  if (record.verdict === 'allowed') {
    const credential = typeof record.credential === 'string' ? [`with ${printable(record.credential)}`] : [];
    return [...credential, ...describePassed(record), ...describeCost(record), ...incident];
  }
  return [printable(record.code), printable(record.reason), ...describeCost(record), ...incident];
}

/** What passed unread says nothing else of itself. */
function describePassed({ scheme, bytes_in: up, bytes_out: down }: Readonly<Record<string, unknown>>): string[] {
  return scheme === 'tcp' ? [`${printable(up)} bytes up, ${printable(down)} down`] : [];
}

/** Also of an answer that broke off: it was paid for. */
function describeCost(record: Readonly<Record<string, unknown>>): string[] {
  const { model, tokens_in: tokensIn, tokens_out: tokensOut, cost_usd: cost } = record;
  if (typeof tokensIn !== 'number' || typeof tokensOut !== 'number' || tokensIn + tokensOut === 0) return [];
  const about = record.tokens_estimated === true ? 'about ' : '';
  const dollars = typeof cost === 'number' ? `  $${cost.toFixed(4)}` : '';
  return [`${about}${tokensIn}+${tokensOut} tokens of ${printable(model ?? 'a model')}${dollars}`];
}

function asCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number up to 999999.');
  return Number(text);
}
