// `sallyport run`: the main job. A command in a sandbox that has no network but this door, no credential, and works
// unmodified. Its gateway is the one that runs already, where that is the very one it would start, or else started beside it.
import { type Command, Option } from 'commander';
import type { RunGateway } from '../gateway/run-gateway.ts';
import { pathOutside } from '../kit/process/path-outside.ts';
import { parseHostPort } from '../kit/text/host-port.ts';
import { isLoopbackAddress, parsePublishedPort } from '../kit/text/published-port.ts';
import type { RequestedMount } from '../sandbox/files/user-mounts.ts';
import type { Launcher, LauncherName } from '../sandbox/run/sandbox-plan.ts';
import type { SandboxRequest, SettingsChoice, StartedSandbox } from '../sandbox/run/start-sandbox.ts';
import type { CliContext } from './cli-context.ts';
import { credentialTroubles } from './steps/credential-states.ts';
import { configFor, factsOf, type JoinedFacts, joinOrStart } from './steps/join-run.ts';
import { addRightsOptions, asRights, gather, type RightsOptions } from './steps/rights-options.ts';
import { describeRefusals, describeRun, type RefusedSummary } from './steps/run-report.ts';
import { addSavedChoices } from './steps/saved-choices.ts';
import { SignalPass } from './steps/signal-pass.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { systemSentence } from './terminal/system-error.ts';

interface RunOptions extends RightsOptions {
  readonly id?: string;
  readonly name?: string;
  readonly detach?: boolean;
  readonly memory?: string;
  readonly cpus?: string;
  readonly pids?: string;
  readonly time?: string;
  readonly launcher?: LauncherName;
  readonly image?: string;
  readonly mount?: string[];
  readonly ro?: string[];
  readonly env?: string[];
  readonly home?: 'fresh' | 'persist';
  readonly hideEnvFiles?: boolean;
  readonly settings?: SettingsChoice;
  readonly hostPort?: string[];
  readonly cache?: string[];
  readonly publish?: string[];
  readonly gitConfig?: 'read-only' | 'writable';
  readonly config?: string;
  readonly gateway?: boolean;
  readonly dashboard?: boolean;
  readonly learn?: boolean;
  readonly learnApply?: boolean;
  readonly quiet?: boolean;
  readonly saved?: boolean;
}

/** Of the last refusals: told are fewer, each once. */
const refusalsRead = 100;

/** Of the process that `--detach` starts: the id that it was given. */
const backgroundVariable = 'SALLYPORT_BACKGROUND';

export function addRunCommand(program: Command, context: CliContext): void {
  const run = program
    .command('run')
    .summary('run a command in a sandbox that has no network but this door')
    .description('Runs a command in a sandbox: no network but this door, no credential, and it works unmodified.')
    .usage('[options] -- <command...>')
    .argument('[command...]', 'the command and its arguments; what stands behind it is its own');
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
    .addOption(
      new Option('--settings <KIND>', 'copy: your own settings of agents, without credentials (default: none)').choices(
        ['none', 'copy'],
      ),
    )
    .option(
      '-p, --publish <[[IP:]HOST_PORT:]PORT>',
      "a port of the sandbox that this machine's loopback has; may be repeated",
      gather,
    )
    .option(
      '--host-port <PORT[:INSIDE]>',
      "a port of this machine's 127.0.0.1 that it finds on its own; may be repeated",
      gather,
    )
    .option(
      '--cache <NAME=KIND>',
      'npm, pip, cargo or go: read-only (a copy of yours), project (kept) or none; may be repeated',
      gather,
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
        'podman',
        'unshare',
      ]),
    )
    .option('--image <IMAGE>', 'run it in this image, with Docker, or with --launcher podman')
    .option('--id <ID>', 'name it yourself (default: a random one)')
    .option('--memory <SIZE>', 'the memory of all its processes, such as 4g')
    .option('--cpus <NUMBER>', 'how many processors it may use, such as 2 or 0.5')
    .option('--pids <NUMBER>', 'how many processes and threads it may have')
    .option('--time <TIME>', 'how long it may run, such as 90m or 2h; then it is ended, with exit code 124')
    .option('-d, --detach', 'run it in the background, without a terminal, and print its id')
    .option('--name <NAME>', 'what you call it, in `ps`, `exec`, `stop` and `logs`')
    .option('--config <FILE>', 'the configuration (default: $SALLYPORT_CONFIG, ./sallyport.yaml, ~/.config/sallyport/)')
    .option('--gateway', 'join the gateway that runs already, whatever its policy')
    .option('--dashboard', 'serve the dashboard while it runs, and print its address')
    .option('--learn', 'let it read public hosts the policy does not know, and propose lines for them at the end')
    .option('--learn-apply', 'learn, and add those lines to the configuration without asking')
    .option('--no-saved', 'take nothing from `run:` of the configuration')
    .option('-q, --quiet', 'print errors only')
    .addHelpText(
      'after',
      `
Examples:
  sallyport run -- claude
  sallyport run --repo owner/repo -- codex
  sallyport run --repo owner/repo --ro ~/notes --env EDITOR -- bash
  sallyport run -p 3000 -- npm run dev                   # http://localhost:3000 is its dev server
  sallyport run --host-port 5432 -- npm test              # its 127.0.0.1:5432 is your database
  sallyport run --image my-tools --gateway -- make test
  sallyport run --launcher podman --image my-tools -- make test
  sallyport run --settings copy -- claude
  sallyport run --cache npm=project -- npm ci
  sallyport run --learn -- npm test`,
    )
    .action(async (words: string[], options: RunOptions) => {
      if (words.length === 0)
        throw new CommandFailed(
          exitCode.usage,
          'there is no command to run in the sandbox',
          'Say: sallyport run -- bash, or claude, codex, gemini, opencode; `sallyport run --help` tells the options',
        );
      const background = context.env[backgroundVariable];
      delete context.env[backgroundVariable];
      if (options.detach === true && background === undefined) {
        const { detachRun } = await import('./steps/detach-run.ts');
        return detachRun(context, options.id, backgroundVariable);
      }
      // Before anything is started: Ctrl-C reaches us as well, and what ends us ends the sandbox.
      const signals = new SignalPass();
      const inBackground = options.detach === true && background !== undefined;
      const run = await begin(
        context,
        words,
        inBackground ? { ...options, id: background } : { ...options, detach: false },
      );
      if (inBackground) await keepOutputOf(context, run.started);
      signals.passTo(run.started);
      const code = await run.started.ended.finally(() => signals.letGo());
      const findings = await run.started.review().catch(() => []);
      for (const finding of findings) context.say(`sallyport: ${printable(finding)}`);
      if (options.quiet !== true) await report(context, run);
      await run.learned?.();
      await run.gateway.leave();
      context.exitCode = code;
    });
}

/** It has no input, and what it prints is kept for `logs --output`. */
async function keepOutputOf(context: CliContext, { grant, streams }: StartedSandbox): Promise<void> {
  if (streams === null) return;
  const { keepOutput, outputFile } = await import('../sandbox/hands/kept-output.ts');
  streams.stdin.end();
  keepOutput(outputFile(context.places.home, grant.id), [streams.stdout, streams.stderr]);
}

interface Run {
  readonly started: StartedSandbox;
  readonly gateway: RunGateway;
  /** What a session that learned needed: proposed, when it has ended. */
  readonly learned: (() => Promise<void>) | null;
}

async function begin(context: CliContext, command: readonly string[], given: RunOptions): Promise<Run> {
  // Before anything is loaded that takes credentials out of it.
  const environment = { ...context.env, PATH: context.userPath };
  let joining: Promise<RunGateway> | null = null;
  let conclude: ((sandbox: string) => Promise<void>) | null = null;
  let facts: Promise<JoinedFacts> | null = null;
  try {
    const config = await configFor(context, given);
    const { options, said } = await addSavedChoices(given, given.saved === false ? null : config);
    if (options.launcher === undefined && options.image === undefined && options.quiet !== true) {
      const { offerBubblewrap } = await import('./steps/offer-bubblewrap.ts');
      await offerBubblewrap(context);
    }
    const mounts = await askedMounts(context, options, environment);
    // Another process, which takes the longest: everything else is done beside it.
    const writable = [context.cwd, ...(await writableOf(mounts))];
    let underWay = (): void => {};
    const isUnderWay = new Promise<void>((resolve) => {
      underWay = resolve;
    });
    joining = joinOrStart(context, options, config, writable, underWay);
    // Told below, when the rest has been looked at too.
    joining.catch(underWay);
    await isUnderWay;
    const coming = joining.then(async (gateway) => {
      if (options.learn === true || options.learnApply === true)
        conclude = await openLearning(context, options, gateway);
      facts = factsOf(context, options, gateway);
      facts.catch(() => {});
      return gateway.registrar;
    });
    coming.catch(() => {});
    const asked = await asRequest(context, command, options, environment, mounts);
    const onReady: SandboxRequest['onReady'] = async (ready) =>
      announce(context, options, { launcher: asked.launcher, said }, ready, await facts!);
    const { startSandbox } = await import('../sandbox/run/start-sandbox.ts');
    const started = await startSandbox({ ...asked, onReady }, coming);
    return { started, gateway: await joining, learned: conclude && (() => conclude!(started.grant.id)) };
  } catch (error) {
    await (await joining?.catch(() => null))?.leave();
    throw notStarted(error, context.places.home);
  }
}

/** Returns how it is concluded. */
async function openLearning(
  context: CliContext,
  options: RunOptions,
  gateway: RunGateway,
): Promise<(sandbox: string) => Promise<void>> {
  const { concludeSession, learnBySocket } = await import('./steps/learn-session.ts');
  const { learningMeans } = await import('./steps/learn-report.ts');
  const port = learnBySocket(() => gateway.client);
  const quiet = options.quiet === true;
  if (!quiet) context.say(learningMeans);
  gateway.afterRegistration = (id) => port.start(id);
  return (sandbox) => concludeSession(context, port, sandbox, { apply: options.learnApply === true, quiet });
}

async function askedMounts(
  context: CliContext,
  options: RunOptions,
  environment: NodeJS.ProcessEnv,
): Promise<RequestedMount[]> {
  const { parseMount } = await import('../sandbox/files/user-mounts.ts');
  const places = { cwd: context.cwd, home: environment.HOME ?? '/' };
  return [
    ...(options.mount ?? []).map((text) => parseMount(text, 'read-write', places)),
    ...(options.ro ?? []).map((text) => parseMount(text, 'read-only', places)),
  ];
}

/** From now on no program of our own comes from there. */
async function writableOf(mounts: readonly RequestedMount[]): Promise<string[]> {
  const { writableIn } = await import('../sandbox/run/request-sandbox.ts');
  const writable = writableIn(mounts);
  process.env.PATH = pathOutside(process.env.PATH ?? '', writable);
  return writable;
}

async function asRequest(
  context: CliContext,
  command: readonly string[],
  options: RunOptions,
  environment: NodeJS.ProcessEnv,
  mounts: readonly RequestedMount[],
): Promise<SandboxRequest> {
  const { requestSandbox } = await import('../sandbox/run/request-sandbox.ts');
  const { readLimits } = await import('../sandbox/limits/sandbox-limits.ts');
  const { parseCaches } = await import('../sandbox/run/package-caches.ts');
  return requestSandbox({
    command,
    stdio: options.detach === true ? 'piped' : 'terminal',
    background: options.detach === true,
    registration: {
      ...(options.id !== undefined && { id: options.id }),
      ...asRights(options),
      ...asHostPorts(options.hostPort ?? []),
      ...asPublished(context, options.publish ?? []),
    },
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
    settings: options.settings,
    caches: parseCaches(options.cache ?? []),
    gitConfig: options.gitConfig,
    name: options.name,
    limits: readLimits(options),
    onTimeOver: (words) => context.say(`sallyport: ${words}`),
  });
}

/** A port that others can come to is said to everybody, whoever reads. */
function asPublished(context: CliContext, texts: readonly string[]): { readonly ports?: readonly string[] } {
  for (const text of texts) {
    const read = parsePublishedPort(text);
    if ('problem' in read) throw new CommandFailed(exitCode.usage, `-p ${printable(text)}: ${read.problem}`);
    if (!isLoopbackAddress(read.value.address))
      context.say(`sallyport: -p ${printable(text)}: whoever can reach ${read.value.address} reaches this sandbox.`);
  }
  return texts.length === 0 ? {} : { ports: texts };
}

/** Every error in them at once, before anything is started. */
function asHostPorts(texts: readonly string[]): { readonly host_ports?: readonly string[] } {
  for (const text of texts) {
    const read = parseHostPort(text);
    if ('problem' in read) throw new CommandFailed(exitCode.usage, `--host-port ${printable(text)}: ${read.problem}`);
  }
  return texts.length === 0 ? {} : { host_ports: texts };
}

/** A script must be able to tell our failure from one of the command. `home`: where most is written. */
export function notStarted(error: unknown, home?: string): unknown {
  const system = systemSentence(error, home);
  if (system !== null) return new CommandFailed(exitCode.notStarted, system.message, system.hint);
  if (!(error instanceof Error) || error.name !== 'LaunchError') return error;
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return new CommandFailed(exitCode.notStarted, error.message, hint);
}

/** Only to a person; what is not isolated is said to everybody. */
function announce(
  context: CliContext,
  options: RunOptions,
  { launcher, said }: { readonly launcher: Launcher; readonly said: string | null },
  started: Pick<StartedSandbox, 'grant' | 'notices' | 'limits'>,
  facts: JoinedFacts,
): void {
  const { credentials, config, dashboard } = facts;
  // Asked for, it is said to everybody; configured, to a person.
  if (dashboard !== null) context.say(`sallyport: dashboard ${printable(dashboard)} (good for one visit)`);
  if (!context.isTerminal || options.quiet === true) {
    for (const notice of launcher.notice) context.say(`sallyport: ${printable(notice)}`);
    for (const trouble of credentialTroubles(credentials)) context.say(`sallyport: ${trouble}`);
    return;
  }
  context.say(
    describeRun(context, {
      launcher: launcher.name,
      started: { ...started, notices: [...facts.notices, ...started.notices] },
      workingDirectory: context.cwd,
      repos: options.repo ?? [],
      branches: options.mode === 'user' ? ['any branch that is not protected'] : (options.branch ?? ['sandbox/*']),
      credentials,
      config,
      persistentHome: options.home === 'persist',
      saved: said,
    }),
  );
}

async function report(context: CliContext, { started, gateway }: Run): Promise<void> {
  if (!context.isTerminal) return;
  const { id } = started.grant;
  const refused: RefusedSummary[] = [];
  try {
    const query = `sandbox=${encodeURIComponent(id)}&refused=1&limit=${refusalsRead}`;
    const records = gateway.client.lines(`/internal/audit?${query}`);
    for await (const record of records) refused.push(record as unknown as RefusedSummary);
  } catch {
    // The gateway went away before its sandbox did: there is nobody to ask.
  }
  const text = describeRefusals(context, id, refused);
  if (text !== null) context.say(text);
}
