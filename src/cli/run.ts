// `sallyport run`: the main job. A command in a sandbox that has no network but this door, no credential, and works
// unmodified. The gateway lives in this process and ends with it, unless --gateway joins one that runs.
import { type Command, Option } from 'commander';
import type { CredentialStatus } from '../gateway/admin/admin-ports.ts';
import type { OwnGateway } from '../gateway/own-gateway.ts';
import { pathOutside } from '../kit/process/path-outside.ts';
import type { Launcher, LauncherName } from '../sandbox/run/sandbox-plan.ts';
import type { SandboxRegistrar, SandboxRequest, StartedSandbox } from '../sandbox/run/start-sandbox.ts';
import type { CliContext } from './cli-context.ts';
import { approvingPerson } from './steps/approve-edit.ts';
import { credentialTroubles } from './steps/credential-states.ts';
import { addRightsOptions, asRights, gather, type RightsOptions } from './steps/rights-options.ts';
import { describeRefusals, describeRun, type RefusedSummary } from './steps/run-report.ts';
import { SignalPass } from './steps/signal-pass.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { systemSentence } from './terminal/system-error.ts';

interface RunOptions extends RightsOptions {
  readonly id?: string;
  readonly launcher?: LauncherName;
  readonly image?: string;
  readonly mount?: string[];
  readonly ro?: string[];
  readonly env?: string[];
  readonly home: 'fresh' | 'persist';
  readonly hideEnvFiles?: boolean;
  readonly gitConfig?: 'read-only' | 'writable';
  readonly config?: string;
  readonly gateway?: boolean;
  readonly dashboard?: boolean;
  readonly learn?: boolean;
  readonly learnApply?: boolean;
  readonly quiet?: boolean;
}

const refusalsShown = 3;

export function addRunCommand(program: Command, context: CliContext): void {
  const run = program
    .command('run')
    .summary('run a command in a sandbox that has no network but this door')
    .description('Runs a command in a sandbox: no network but this door, no credential, and it works unmodified.')
    .argument('<command...>', 'the command and its arguments; what stands behind it is its own');
  addRightsOptions(run)
    .option('--mount <PATH[:INSIDE]>', 'let a file or folder in, to read and write; may be repeated', gather)
    .option('--ro <PATH[:INSIDE]>', 'let a file or folder in, to read; may be repeated', gather)
    .option('--env <NAME[=VALUE]>', 'let a variable in; may be repeated', gather)
    .addOption(
      new Option('--home <KIND>', 'fresh: gone with the sandbox; persist: kept for the next in this project').choices([
        'fresh',
        'persist',
      ]),
    )
    .option('--hide-env-files', 'hide files named .env in the working directory')
    .addOption(
      new Option('--git-config <ACCESS>', "the repository's own git settings (default: read-only)").choices([
        'read-only',
        'writable',
      ]),
    )
    .addOption(
      new Option('--launcher <NAME>', 'how it is isolated (default: bubblewrap, or namespaces without it)').choices([
        'bubblewrap',
        'docker',
        'namespaces',
        'unshare',
      ]),
    )
    .option('--image <IMAGE>', 'run it in this image, with Docker')
    .option('--id <ID>', 'name it yourself (default: a random one)')
    .option('--config <FILE>', 'the configuration (default: $SALLYPORT_CONFIG, ./sallyport.yaml, ~/.config/sallyport/)')
    .option('--gateway', 'join the gateway that `sallyport up` runs')
    .option('--dashboard', 'serve the dashboard while it runs, and print its address')
    .option('--learn', 'let it read public hosts the policy does not know, and propose lines for them at the end')
    .option('--learn-apply', 'learn, and add those lines to the configuration without asking')
    .option('-q, --quiet', 'print errors only')
    .addHelpText(
      'after',
      `
Examples:
  sallyport run -- claude
  sallyport run --repo owner/repo -- codex
  sallyport run --repo owner/repo --ro ~/notes --env EDITOR -- bash
  sallyport run --image my-tools --gateway -- make test
  sallyport run --learn -- npm test`,
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
      await run.learned?.();
      await run.own?.stop();
      context.exitCode = code;
    });
}

interface Run {
  readonly started: StartedSandbox;
  readonly own: OwnGateway | null;
  /** What a session that learned needed: proposed, when it has ended. */
  readonly learned: (() => Promise<void>) | null;
}

async function begin(context: CliContext, command: readonly string[], options: RunOptions): Promise<Run> {
  // Before anything is loaded that takes credentials out of it.
  const environment = { ...context.env, PATH: context.userPath };
  let own: Promise<OwnGateway> | null = null;
  let gateway: OwnGateway | null = null;
  let credentials: readonly CredentialStatus[] | null = null;
  let conclude: ((sandbox: string) => Promise<void>) | null = null;
  const teaching = async (registrar: SandboxRegistrar, gateway: OwnGateway | null): Promise<SandboxRegistrar> => {
    if (options.learn !== true && options.learnApply !== true) return registrar;
    const session = await openLearning(context, options, gateway);
    conclude = session.conclude;
    return session.registrar(registrar);
  };
  try {
    if (options.launcher === undefined && options.image === undefined && options.quiet !== true) {
      const { offerBubblewrap } = await import('./steps/offer-bubblewrap.ts');
      await offerBubblewrap(context);
    }
    const asked = await asRequest(context, command, options, environment);
    const onReady: SandboxRequest['onReady'] = (ready) =>
      announce(context, options, asked.launcher, ready, gateway, credentials);
    const request = { ...asked, onReady };
    const { startSandbox } = await import('../sandbox/run/start-sandbox.ts');
    // Loading the gateway takes the longest: it begins when the processes of the sandbox are on their way.
    const started = await startSandbox(request, async () => {
      const { registrarOfGateway, registrarOfSocket } = await import('../gateway/sandboxes/sandbox-registrar.ts');
      if (options.gateway === true) {
        if (options.dashboard === true) await announceRunningPage(context);
        credentials = await credentialsOfRunning(context);
        return teaching(registrarOfSocket(context.admin), null);
      }
      own = startOwn(context, options);
      gateway = await own;
      credentials = gateway.admin.listCredentials();
      return teaching(registrarOfGateway(gateway.admin), gateway);
    });
    return { started, own: gateway, learned: conclude && (() => conclude!(started.grant.id)) };
  } catch (error) {
    await stopOwn(own);
    throw notStarted(error);
  }
}

interface Learning {
  registrar(registrar: SandboxRegistrar): SandboxRegistrar;
  conclude(sandbox: string): Promise<void>;
}

async function openLearning(context: CliContext, options: RunOptions, gateway: OwnGateway | null): Promise<Learning> {
  const { concludeSession, learnByGateway, learnBySocket, learningRegistrar } = await import(
    './steps/learn-session.ts'
  );
  const { learningMeans } = await import('./steps/learn-report.ts');
  const port = gateway === null ? learnBySocket(context.admin) : learnByGateway(gateway.admin);
  const quiet = options.quiet === true;
  if (!quiet) context.say(learningMeans);
  const wanted = { apply: options.learnApply === true, quiet };
  return {
    registrar: (registrar) => learningRegistrar(registrar, port),
    conclude: (sandbox) => concludeSession(context, port, sandbox, wanted),
  };
}

async function stopOwn(own: Promise<OwnGateway> | null): Promise<void> {
  const gateway = await own?.catch(() => null);
  await gateway?.stop();
}

async function startOwn(context: CliContext, options: RunOptions): Promise<OwnGateway> {
  const { checkConfigIsTheUsers } = await import('../gateway/config/trusted-config.ts');
  await checkConfigIsTheUsers(context, options.config, approvingPerson(context));
  const { startOwnGateway } = await import('../gateway/own-gateway.ts');
  const dashboard = options.dashboard === true;
  return startOwnGateway({ home: context.places.home, config: options.config, userKeys: true, dashboard });
}

async function asRequest(
  context: CliContext,
  command: readonly string[],
  options: RunOptions,
  environment: NodeJS.ProcessEnv,
): Promise<SandboxRequest> {
  const { requestSandbox, writableIn } = await import('../sandbox/run/request-sandbox.ts');
  const { parseMount } = await import('../sandbox/files/user-mounts.ts');
  const places = { cwd: context.cwd, home: environment.HOME ?? '/' };
  const mounts = [
    ...(options.mount ?? []).map((text) => parseMount(text, 'read-write', places)),
    ...(options.ro ?? []).map((text) => parseMount(text, 'read-only', places)),
  ];
  process.env.PATH = pathOutside(process.env.PATH ?? '', writableIn(mounts));
  return requestSandbox({
    command,
    stdio: 'terminal',
    registration: { ...(options.id !== undefined && { id: options.id }), ...asRights(options) },
    workingDirectory: context.cwd,
    environment,
    ownPath: process.env.PATH,
    launcher: options.launcher,
    image: options.image,
    places: context.places,
    keepHome: options.home === 'persist',
    mounts,
    variables: options.env ?? [],
    hideEnvFiles: options.hideEnvFiles === true,
    gitConfig: options.gitConfig,
  });
}

/** A script must be able to tell our failure from one of the command. */
export function notStarted(error: unknown): unknown {
  const system = systemSentence(error);
  if (system !== null) return new CommandFailed(exitCode.notStarted, system.message, system.hint);
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
  credentials: readonly CredentialStatus[] | null,
): void {
  announcePage(context, options, own);
  if (!context.isTerminal || options.quiet === true) {
    for (const notice of launcher.notice) context.say(`sallyport: ${printable(notice)}`);
    for (const trouble of credentialTroubles(credentials ?? [])) context.say(`sallyport: ${trouble}`);
    return;
  }
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

/** Null: it is of a version that does not say. */
async function credentialsOfRunning(context: CliContext): Promise<readonly CredentialStatus[] | null> {
  const answer = await context.admin
    .call<{ credentials: readonly CredentialStatus[] }>('GET', '/internal/credentials')
    .catch(() => null);
  return answer?.credentials ?? null;
}

/** That of the gateway that is joined, where it has one: the command runs without it too. */
async function announceRunningPage(context: CliContext): Promise<void> {
  try {
    const { address } = await context.admin.call<{ address: string }>('POST', '/internal/dashboard');
    context.say(`sallyport: dashboard ${printable(address)} (good for one visit)`);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'AdminRefused') throw error;
    context.say(`sallyport: ${printable(error.message)}`);
  }
}

/** Asked for, it is said to everybody; configured, to a person. */
function announcePage(context: CliContext, options: RunOptions, own: OwnGateway | null): void {
  if (own === null || (options.dashboard !== true && (!context.isTerminal || options.quiet === true))) return;
  const { dashboard, dashboardProblem } = own.summary;
  if (dashboardProblem !== null) context.say(`sallyport: ${printable(dashboardProblem)}`);
  if (dashboard !== null) context.say(`sallyport: dashboard ${printable(dashboard)} (good for one visit)`);
}

async function report(context: CliContext, { started, own }: Run): Promise<void> {
  if (!context.isTerminal) return;
  const { id } = started.grant;
  const filter = { sandbox: id, refusedOnly: true, limit: refusalsShown, follow: false };
  const records =
    own === null
      ? context.admin.lines(`/internal/audit?sandbox=${encodeURIComponent(id)}&refused=1&limit=${refusalsShown}`)
      : own.admin.audit({ ...filter, signal: new AbortController().signal });
  const refused: RefusedSummary[] = [];
  try {
    for await (const record of records) refused.push(record as unknown as RefusedSummary);
  } catch {
    // The gateway went away before its sandbox did: there is nobody to ask.
  }
  const text = describeRefusals(context, id, refused);
  if (text !== null) context.say(text);
}
