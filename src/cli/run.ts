// `sallyport run`: the main job. A command in a sandbox that has no network but this door, no credential, and works
// unmodified. The gateway lives in this process and ends with it, unless --gateway joins one that runs.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { CredentialStatus } from '../admin/admin-ports.ts';
import { pathOutside } from '../kit/path-outside.ts';
import type { Launcher, LauncherName } from '../launch/sandbox-plan.ts';
import type { SandboxRequest, StartedSandbox } from '../launch/start-sandbox.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './exit-code.ts';
import type { OwnGateway } from './own-gateway.ts';
import { printable } from './printable.ts';
import { addRightsOptions, asRights, gather, type RightsOptions } from './rights-options.ts';
import { describeRefusals, describeRun, type Refused } from './run-report.ts';
import { SignalPass } from './signal-pass.ts';

interface RunOptions extends RightsOptions {
  readonly id?: string;
  readonly launcher?: LauncherName;
  readonly image?: string;
  readonly mount?: string[];
  readonly ro?: string[];
  readonly env?: string[];
  readonly home: 'fresh' | 'persist';
  readonly hideEnvFiles?: boolean;
  readonly config?: string;
  readonly gateway?: boolean;
  readonly quiet?: boolean;
}

const refusalsShown = 3;

export function addRunCommand(program: Command, context: CliContext): void {
  const run = program
    .command('run')
    .summary('run a command in a sandbox that has no network but this door')
    .description('Runs a command in a sandbox: no network but this door, no credential, and it works unmodified.')
    .argument('<command...>', 'the command and its arguments, after --');
  addRightsOptions(run)
    .option('--mount <PATH[:INSIDE]>', 'let a file or folder in, to read and write; may be repeated', gather)
    .option('--ro <PATH[:INSIDE]>', 'let a file or folder in, to read; may be repeated', gather)
    .option('--env <NAME[=VALUE]>', 'let a variable in; may be repeated', gather)
    .addOption(
      new Option('--home <KIND>', 'fresh: gone with the sandbox; persist: kept for the next').choices([
        'fresh',
        'persist',
      ]),
    )
    .option('--hide-env-files', 'files named .env in the working directory stay out of sight')
    .addOption(
      new Option('--launcher <NAME>', 'how it is isolated (default: bubblewrap)').choices([
        'bubblewrap',
        'docker',
        'unshare',
      ]),
    )
    .option('--image <IMAGE>', 'run it in this image, by Docker')
    .option('--id <ID>', 'name it yourself (default: a random one)')
    .option('--config <FILE>', 'the configuration (default: $SALLYPORT_CONFIG, ./sallyport.yaml, ~/.config/sallyport/)')
    .option('--gateway', 'join the gateway that `sallyport up` runs')
    .option('-q, --quiet', 'say nothing but errors')
    .addHelpText(
      'after',
      `
Examples:
  sallyport run -- claude
  sallyport run --repo owner/repo -- codex
  sallyport run --repo owner/repo --ro ~/notes --env EDITOR -- bash
  sallyport run --image my-tools --gateway -- make test`,
    )
    .action(async (words: string[], options: RunOptions) => {
      // Before anything is started: Ctrl-C reaches us as well, and what ends us ends the sandbox.
      const signals = new SignalPass();
      const run = await begin(context, words, options);
      signals.passTo(run.started);
      const code = await run.started.ended.finally(() => signals.letGo());
      const findings = await run.started.review().catch(() => []);
      for (const finding of findings) context.say(`sallyport: ${printable(finding)}`);
      if (options.quiet !== true) await report(context, run);
      await run.own?.stop();
      context.exitCode = code;
    });
}

interface Run {
  readonly started: StartedSandbox;
  readonly own: OwnGateway | null;
}

async function begin(context: CliContext, command: readonly string[], options: RunOptions): Promise<Run> {
  // Before anything is loaded that takes credentials out of it.
  const environment = { ...context.env, PATH: context.userPath };
  let own: Promise<OwnGateway> | null = null;
  let gateway: OwnGateway | null = null;
  try {
    const asked = await asRequest(context, command, options, environment);
    const onReady: SandboxRequest['onReady'] = (ready) => announce(context, options, asked.launcher, ready, gateway);
    const request = { ...asked, onReady };
    const { startSandbox } = await import('../launch/start-sandbox.ts');
    // Loading the gateway takes the longest: it begins when the processes of the sandbox are on their way.
    const started = await startSandbox(request, async () => {
      const { deskOfGateway, deskOfSocket } = await import('./sandbox-desk.ts');
      if (options.gateway === true) return deskOfSocket(context.admin);
      own = startOwn(context, options);
      gateway = await own;
      return deskOfGateway(gateway.desk);
    });
    return { started, own: gateway };
  } catch (error) {
    await stopOwn(own);
    throw notStarted(error);
  }
}

async function stopOwn(own: Promise<OwnGateway> | null): Promise<void> {
  const gateway = await own?.catch(() => null);
  await gateway?.stop();
}

async function startOwn(context: CliContext, options: RunOptions): Promise<OwnGateway> {
  const { checkConfigIsTheUsers } = await import('./trusted-config.ts');
  await checkConfigIsTheUsers(context, options.config);
  const { startOwnGateway } = await import('./own-gateway.ts');
  return startOwnGateway({ home: context.places.home, config: options.config, userKeys: true });
}

async function asRequest(
  context: CliContext,
  command: readonly string[],
  options: RunOptions,
  environment: NodeJS.ProcessEnv,
): Promise<SandboxRequest> {
  const { findLauncher } = await import('../launch/find-launcher.ts');
  const { parseMount } = await import('../launch/user-mounts.ts');
  const { cleanRunFolders } = await import('../launch/run-folder.ts');
  const userHome = environment.HOME ?? '/';
  const places = { cwd: context.cwd, home: userHome };
  const own = { ...environment, PATH: process.env.PATH };
  const launcher = await findLauncher({ wanted: options.launcher, image: options.image, environment: own });
  // In plain unshare the files of the host stay where they are, and the state directory is out of sight: not there.
  const runFolders =
    launcher.name === 'unshare'
      ? join(tmpdir(), `sallyport-sandboxes-${process.geteuid?.()}`)
      : context.places.sandboxFolders;
  void cleanRunFolders(runFolders).catch(() => {});
  const mounts = [
    ...(options.mount ?? []).map((text) => parseMount(text, 'read-write', places)),
    ...(options.ro ?? []).map((text) => parseMount(text, 'read-only', places)),
  ];
  const writable = mounts.filter(({ mode }) => mode === 'read-write').map(({ source }) => source);
  process.env.PATH = pathOutside(process.env.PATH ?? '', writable);
  return {
    launcher,
    command,
    stdio: 'terminal',
    registration: { ...(options.id !== undefined && { id: options.id }), ...asRights(options) },
    workingDirectory: context.cwd,
    environment,
    userHome,
    stateFolder: context.places.home,
    runFolders,
    persistentHome: options.home === 'persist' ? context.places.persistentHome : null,
    mounts,
    variables: options.env ?? [],
    hideEnvFiles: options.hideEnvFiles === true,
  };
}

/** A script must be able to tell our failure from one of the command. */
function notStarted(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'LaunchError') return error;
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return new CommandFailed(exitCode.notStarted, error.message, hint);
}

/** Only to a person; what is not isolated is said to everybody. */
function announce(
  context: CliContext,
  options: RunOptions,
  launcher: Launcher,
  started: Pick<StartedSandbox, 'grant' | 'notices'>,
  own: OwnGateway | null,
): void {
  if (!context.isTerminal || options.quiet === true) {
    for (const notice of launcher.notice) context.say(`sallyport: ${printable(notice)}`);
    return;
  }
  const credentials: readonly CredentialStatus[] | null = own?.desk.listCredentials() ?? null;
  context.say(
    describeRun(context, {
      launcher: launcher.name,
      started,
      workingDirectory: context.cwd,
      repos: options.repo ?? [],
      branches: options.mode === 'user' ? ['any branch that is not protected'] : (options.branch ?? ['sandbox/*']),
      credentials,
      config: own?.summary.config ?? 'that of the running gateway',
      persistentHome: options.home === 'persist',
    }),
  );
}

async function report(context: CliContext, { started, own }: Run): Promise<void> {
  if (!context.isTerminal) return;
  const { id } = started.grant;
  const filter = { sandbox: id, refusedOnly: true, limit: refusalsShown, follow: false };
  const records =
    own === null
      ? context.admin.lines(`/internal/audit?sandbox=${encodeURIComponent(id)}&refused=1&limit=${refusalsShown}`)
      : own.desk.audit({ ...filter, signal: new AbortController().signal });
  const refused: Refused[] = [];
  try {
    for await (const record of records) refused.push(record as unknown as Refused);
  } catch {
    // The gateway went away before its sandbox did: there is nobody to ask.
  }
  const text = describeRefusals(context, id, refused);
  if (text !== null) context.say(text);
}
