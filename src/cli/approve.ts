// `sallyport approve` and `sallyport deny`: answers to requests that wait for a person, and a list of what waits. What a
// sandbox has a say in is made harmless before it reaches the terminal. Writes no file itself: the gateway does.
import { type Command, InvalidArgumentError } from 'commander';
import type { PolicyLine } from '../gateway/admin/admin-ports.ts';
import type { Approval, ApprovalScope, Question } from '../path/approvals.ts';
import type { CliContext } from './cli-context.ts';
import { askedAddress, isUsualPort } from './terminal/asked-address.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { columns, printable } from './terminal/printable.ts';
import { spanInWords } from './terminal/time-in-words.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface ApproveOptions {
  readonly for?: number;
  readonly always?: boolean;
  readonly host?: boolean;
  readonly yes?: boolean;
  readonly end?: string;
}

export function addApproveCommand(program: Command, context: CliContext): void {
  program
    .command('approve')
    .summary('approve a request that waits for you')
    .description(
      'Approves a request that waits because a rule of the policy says `ask`. Without an id: lists what waits and what is approved.',
    )
    .argument('[id]', 'the id of the waiting request, from the list')
    .option('--for <TIME>', 'also everything like it from this sandbox, for this long: 15m, 2h (up to 24h)', asMinutes)
    .option('--always', 'for every sandbox, for good: adds a line to the configuration file, after showing it')
    .option('--host', 'with --for or --always: on every path of the host, not this one alone')
    .option('-y, --yes', 'with --always: write the line without asking')
    .option('--end <APPROVAL>', 'end an approval before its time')
    .addHelpText(
      'after',
      `
Examples:
  sallyport approve                          what waits
  sallyport approve q7kxmd                   this request, once
  sallyport approve q7kxmd --for 15m         it and its like from this sandbox, for a quarter of an hour
  sallyport approve q7kxmd --always --host   a line in sallyport.yaml, for every path of the host
  sallyport approve --end a3                 take back what was approved for a while`,
    )
    .action(async (id: string | undefined, options: ApproveOptions, command: Command) => {
      refuseNonsense(id, options);
      if (options.end !== undefined) return endApproval(context, options.end, command);
      if (id === undefined) return list(context, command);
      const scope: ApprovalScope = options.host === true ? 'host' : 'path';
      if (options.always === true) return approveAlways(context, id, scope, options, command);
      const how = options.for === undefined ? { for: 'once' } : { for: 'minutes', minutes: options.for, scope };
      return answer(context, id, { answer: 'approve', ...how }, command);
    });
}

export function addDenyCommand(program: Command, context: CliContext): void {
  program
    .command('deny')
    .summary('refuse a request that waits for you')
    .description('Says no to a request that waits because a rule of the policy says `ask`. It is refused at once.')
    .argument('<id>', 'the id of the waiting request, from `sallyport approve`')
    .addHelpText('after', '\nExamples:\n  sallyport deny q7kxmd')
    .action((id: string, _options: object, command: Command) => answer(context, id, { answer: 'deny' }, command));
}

function refuseNonsense(id: string | undefined, options: ApproveOptions): void {
  const { for: minutes, always, host, yes, end } = options;
  const isLonger = minutes !== undefined || always === true;
  const problem =
    end !== undefined && (id !== undefined || isLonger)
      ? '--end goes with no other option and no id: it ends one approval'
      : id === undefined && (isLonger || host === true || yes === true)
        ? 'say which one: sallyport approve ID'
        : minutes !== undefined && always === true
          ? '--for and --always are two answers: give one'
          : host === true && !isLonger
            ? '--host needs --for or --always: without them you approve this one request only'
            : yes === true && always !== true
              ? '--yes goes with --always'
              : null;
  if (problem !== null) throw new CommandFailed(exitCode.usage, problem, 'See: sallyport approve --help');
}

async function answer(context: CliContext, id: string, body: object, command: Command): Promise<void> {
  const path = `/internal/questions/${encodeURIComponent(id)}`;
  const { said } = await context.admin.call<{ said: string }>('POST', path, body);
  if (wantsJson(command)) printJson(context, { id, said });
  else context.print(printable(said));
}

async function approveAlways(
  context: CliContext,
  id: string,
  scope: ApprovalScope,
  options: ApproveOptions,
  command: Command,
): Promise<void> {
  const path = `/internal/questions/${encodeURIComponent(id)}/line?scope=${scope}`;
  const { file, line, text, covers } = await context.admin.call<PolicyLine>('GET', path);
  context.say(`This goes into ${printable(file)} at line ${line}:`);
  for (const one of text.replace(/\n$/, '').split('\n')) context.say(`  + ${printable(one)}`);
  context.say(`It lets pass: ${printable(covers)}.`);
  if (options.yes !== true && !(await isWanted(context))) {
    throw new CommandFailed(exitCode.failure, 'nothing was written, and the request still waits');
  }
  await answer(context, id, { answer: 'approve', for: 'always', scope, line: text }, command);
}

async function isWanted(context: CliContext): Promise<boolean> {
  if (context.stdin.isTTY !== true) {
    const hint = 'Run it in a terminal, or add --yes when this is what you want.';
    throw new CommandFailed(exitCode.usage, 'this is not a terminal, so you cannot be asked whether to write it', hint);
  }
  const { openQuestions } = await import('./terminal/ask-person.ts');
  const questions = openQuestions(context.stdin, (text) => process.stderr.write(text));
  try {
    return await questions.askYesOrNo('Write it?', false);
  } finally {
    questions.close();
  }
}

async function endApproval(context: CliContext, id: string, command: Command): Promise<void> {
  await context.admin.call('DELETE', `/internal/approvals/${encodeURIComponent(id)}`);
  if (wantsJson(command)) printJson(context, { ended: id });
  else context.print(`${printable(id)} has ended: such requests are asked about again.`);
}

async function list(context: CliContext, command: Command): Promise<void> {
  const { questions } = await context.admin.call<{ questions: Question[] }>('GET', '/internal/questions');
  const { approvals } = await context.admin.call<{ approvals: Approval[] }>('GET', '/internal/approvals');
  if (wantsJson(command)) return printJson(context, { questions, approvals });
  const nowMs = Date.now();
  if (questions.length === 0) context.print('Nothing waits for you.');
  else {
    const rows = questions.map((one) => describeQuestion(one, nowMs));
    for (const row of columns(['ID', 'SANDBOX', 'LEFT', 'ASKS FOR', 'BY'], rows)) context.print(row);
    context.say('Answer with `sallyport approve ID` or `sallyport deny ID`.');
  }
  if (approvals.length === 0) return;
  context.print('');
  const rows = approvals.map((one) => describeApproval(one, nowMs));
  for (const row of columns(['APPROVED', 'SANDBOX', 'LEFT', 'COVERS'], rows)) context.print(row);
}

function describeQuestion(question: Question, nowMs: number): string[] {
  const { id, sandbox, untilMs, rule, credential, reason, inVain } = question;
  const more = [
    ...(credential === null ? [] : [`with ${credential}`]),
    ...(reason === null ? [] : [`because: ${reason}`]),
    ...(inVain === null ? [] : [`approving changes nothing: ${inVain}`]),
  ];
  const what = [targetOf(question), ...more].join(', ');
  return [id, sandbox, spanInWords(untilMs - nowMs), what, rule].map(printable);
}

function targetOf(question: Question): string {
  const { effect, repository } = question;
  const address = askedAddress(question);
  return effect === null ? address : `${address} (${effect}${repository === null ? '' : ` on ${repository}`})`;
}

function describeApproval({ id, sandbox, untilMs, covers }: Approval, nowMs: number): string[] {
  return [id, sandbox, spanInWords(untilMs - nowMs), coveredIn(covers)].map(printable);
}

function coveredIn(covers: Approval['covers']): string {
  const { scheme, host, port, credential } = covers;
  const place = `${host}${isUsualPort(scheme, port) ? '' : `:${port}`}`;
  const carrying = credential === null ? '' : `, with ${credential}`;
  if (covers.kind === 'effect') {
    return `${covers.effect} on ${covers.repository ?? 'every repository it may use'} at ${place}${carrying}`;
  }
  if (covers.tunnel) return `undecrypted tunnels to ${host}:${port}`;
  const method = `${covers.method}${covers.websocket ? ' (WebSocket)' : ''}`;
  return `${method} ${scheme}://${place}${covers.path ?? ' (every path)'}${carrying}`;
}

function asMinutes(text: string): number {
  const [, count, unit] = /^(\d{1,4})(m|min|h)?$/.exec(text) ?? [];
  const minutes = Number(count) * (unit === 'h' ? 60 : 1);
  if (minutes >= 1 && minutes <= 1440) return minutes;
  throw new InvalidArgumentError('It must be a time such as 15m or 2h, up to 24h.');
}
