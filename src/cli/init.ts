// `sallyport init`: looks at what is here, asks little, writes a first `sallyport.yaml` and ends with the command to run. Never
// overwrites one that is there unless it is told to, and never prints or copies the value of a credential.
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Choices } from '../policy/init/compose-config.ts';
import type { ProjectSurvey } from '../policy/init/survey.ts';
import type { ConfigInDoubt } from '../policy/load/config-in-doubt.ts';
import { isStandInConfig } from '../policy/load/config-places.ts';
import type { CliContext } from './cli-context.ts';
import { choose } from './steps/init-choices.ts';
import { describeRemotes, describeSurvey, nextCommand, ownCommand } from './steps/init-report.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { systemSentence } from './terminal/system-error.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface InitOptions {
  readonly yes?: boolean;
  readonly config?: string;
  readonly force?: boolean;
  readonly print?: boolean;
  readonly schema?: string;
}

export function addInitCommand(program: Command, context: CliContext): void {
  program
    .command('init')
    .summary('write a first sallyport.yaml from what it finds here')
    .description(
      'Finds agents, credentials (their places, never their values), the remotes of this repository and its package managers, and writes a commented sallyport.yaml. With --json: prints what was found.',
    )
    .option('-y, --yes', 'ask nothing')
    .option('--config <FILE>', 'where to write it (default: ./sallyport.yaml)')
    .option('--force', 'replace an existing file; the old one is kept as FILE.backup (or FILE.backup-2 and so on)')
    .option('--print', 'print it and write nothing')
    .option('--schema <PLACE>', 'tell editors where the schema is (`sallyport config schema` prints it)')
    .addHelpText(
      'after',
      `
Examples:
  sallyport init
  sallyport init --yes
  sallyport init --print
  sallyport init --yes --config ~/.config/sallyport/sallyport.yaml
  sallyport init --schema ./sallyport.schema.json --force`,
    )
    .action(async (options: InitOptions, asked: Command) => {
      const json = wantsJson(asked);
      const file = resolve(context.cwd, options.config ?? 'sallyport.yaml');
      const isPrinted = options.print === true;
      if (!isPrinted && !(json && options.yes !== true)) refuseToOverwrite(file, options.force === true);
      const { survey, isInDoubt, isOwn, self } = await look(context);
      // Without --yes a program only wants to know what is here.
      if (json && options.yes !== true && !isPrinted) return printJson(context, { found: survey, file: null });
      if (!json && !isPrinted) context.say(describeSurvey(context, survey));
      const isSilent = options.yes === true || json || isPrinted;
      const choices = await choose(context, survey, { isInDoubt, isOwn, isSilent });
      const text = await compose(survey, { ...choices, schema: schemaPlace(options.schema) }, file);
      if (isPrinted) return context.print(text.trimEnd());
      // Once more: somebody may have made one while the questions were answered.
      refuseToOverwrite(file, options.force === true);
      const doubt = await write(context, file, text).catch((error: unknown) => refuseToGoOn(file, error));
      const isFound = (await foundBy(context)) === file;
      const command = nextCommand(survey, choices, isInDoubt, { self, config: isFound ? null : file });
      if (json) return printJson(context, { found: survey, file, command });
      for (const line of describeRemotes(survey, choices)) context.say(line);
      announce(context, file, command, doubt);
    });
}

interface Look {
  readonly survey: ProjectSurvey;
  /** A sandbox could write to the configuration of this repository: its remotes may be that sandbox's work. */
  readonly isInDoubt: boolean;
  /** The repository belongs to who asks: another user of this machine may have written its remotes otherwise. */
  readonly isOwn: boolean;
  /** What starts this program here: from a clone it need not be on PATH. */
  readonly self: string;
}

async function look(context: CliContext): Promise<Look> {
  const [{ surveyProject }, { thisMachine }, { findTool, isInPath }, { isDoubtful }] = await Promise.all([
    import('../policy/init/survey.ts'),
    import('../policy/load/machine-files.ts'),
    import('../sandbox/namespace/find-tool.ts'),
    import('../sandbox/traps/written-folders.ts'),
  ]);
  const { env, cwd, userPath, places } = context;
  const machine = thisMachine(env);
  const folders = userPath.split(':');
  const survey = surveyProject({
    machine,
    folder: cwd,
    hasProgram: (program) => isInPath(program, folders),
    launchers: { bubblewrap: findTool('bwrap') !== null, docker: findTool('docker', userPath) !== null },
  });
  const { repository } = survey;
  const isInDoubt = (repository?.saidBy ?? []).some((file) => isDoubtful(places.home, file));
  const git = repository === null ? undefined : lstatSync(join(repository.folder, '.git'), { throwIfNoEntry: false });
  const isOwn = git?.uid === process.getuid?.();
  const launcher = resolve(dirname(process.argv[1] ?? ''), '..', 'sallyport');
  const isCloned = !isInPath('sallyport', folders) && existsSync(launcher);
  return { survey, isInDoubt, isOwn, self: isCloned ? ownCommand(launcher, cwd) : 'sallyport' };
}

/** The configuration that the next command follows when it is told nothing. */
async function foundBy({ env, cwd }: CliContext): Promise<string | null> {
  const [{ findConfigFile }, { thisMachine }] = await Promise.all([
    import('../policy/load/load-policy.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  return findConfigFile({ env, cwd, home: thisMachine(env).home });
}

function refuseToOverwrite(file: string, isForced: boolean): void {
  if (!isForced && isTaken(file) && !isStandInConfig(file)) {
    throw new CommandFailed(
      exitCode.usage,
      `${printable(file)} already exists and was not changed`,
      'Look at another with --print, write it elsewhere with --config FILE, or replace it with --force (the old one is kept).',
    );
  }
}

/** Also a link that leads nowhere is somebody's. */
function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** What we write must be what we accept: it is compiled before anybody sees it. */
async function compose(survey: ProjectSurvey, choices: Choices, file: string): Promise<string> {
  const [{ composeConfig }, { loadPolicyText }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../policy/init/compose-config.ts'),
    import('../policy/load/load-policy.ts'),
    import('../policy/schema/policy-error.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  const text = composeConfig(survey, choices);
  const result = await loadPolicyText(text, file, dirname(file), thisMachine());
  if (result.ok) return text;
  const errors = result.errors.map(formatPolicyError).join('\n');
  throw new CommandFailed(
    exitCode.failure,
    `what was found does not make a valid configuration; nothing was written:\n${errors}`,
  );
}

/** A temporary name of ours would tell nobody anything. */
function refuseToGoOn(file: string, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code !== 'string') throw error;
  const named = Object.assign(new Error(code), { code, syscall: 'write', path: file });
  const { message, hint } = (code === 'ENOENT' ? null : systemSentence(named)) ?? {
    message: `${file} cannot be written (${code})`,
    hint: '',
  };
  const elsewhere = 'Or write it elsewhere with --config FILE, or print it with --print.';
  throw new CommandFailed(exitCode.failure, printable(message), `${printable(hint)}\n${elsewhere}`.trim());
}

/** Why it is not followed all the same; null: it is. */
async function write(context: CliContext, file: string, text: string): Promise<ConfigInDoubt | null> {
  const [{ writeFileAtomically }, { approveConfig, doubtOf }, { mkdir, writeFile }] = await Promise.all([
    import('../kit/files/atomic-file.ts'),
    import('../sandbox/traps/written-folders.ts'),
    import('node:fs/promises'),
  ]);
  await mkdir(dirname(file), { recursive: true });
  const before = lstatSync(file, { throwIfNoEntry: false });
  if (before?.isFile() === false) {
    throw new CommandFailed(exitCode.usage, `${printable(file)} is not a regular file: it was left as it is`);
  }
  const old = before === undefined || isStandInConfig(file) ? null : readFileSync(file);
  if (before !== undefined && old !== null && !old.equals(Buffer.from(text))) {
    const backup = freeName(`${file}.backup`);
    // Whom the old one was closed to, its copy is closed to as well.
    await writeFileAtomically(backup, old, before.mode & 0o777);
    context.say(`The one that was there is now ${printable(backup)}.`);
  }
  // Nothing in it is secret; the gateway may run as another user.
  if (before === undefined) await writeFileAtomically(file, text, 0o644);
  // In place: a sandbox that runs is kept from this very file, and not from another of its name.
  else await writeFile(file, text);
  // Its user has just made it: also where a sandbox could have written it.
  approveConfig(context.places.home, file);
  return doubtOf(context.places.home, file);
}

/** An earlier backup may be the only copy of what somebody wrote by hand. */
function freeName(path: string): string {
  for (let at = 1; ; at++) {
    const name = at === 1 ? path : `${path}-${at}`;
    if (!isTaken(name)) return name;
  }
}

function announce(context: CliContext, file: string, command: string, doubt: ConfigInDoubt | null): void {
  const { colors } = context;
  context.print(
    [
      `${colors.green('written')} ${printable(file)}`,
      doubt === null
        ? 'Read it once. A sandbox cannot change it: `sallyport run` mounts it read-only.'
        : `It is not used yet: ${printable(doubt.message)}`,
      '',
      'Now run:',
      `  ${colors.bold(printable(command))}`,
    ].join('\n'),
  );
}

function schemaPlace(place: string | undefined): string | null {
  if (place === undefined) return null;
  if (/^[\x21-\x7e]+$/.test(place)) return place;
  throw new CommandFailed(exitCode.usage, '--schema must be a path or an address without blanks');
}
