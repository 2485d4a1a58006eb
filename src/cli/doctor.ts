// `sallyport doctor`: is everything as it must be, on this machine, in the gateway that runs, and inside a sandbox; and if not,
// what to do. Asks the running process and tries real requests; believes no file about what is live.
import { type Command, Option } from 'commander';
import { AdminRefused, GatewayUnreachable } from '../gateway/admin/admin-client.ts';
import type {
  AdminPorts,
  CheckResult,
  CredentialStatus,
  HealthReport,
  PublicRecord,
} from '../gateway/admin/admin-ports.ts';
import { type DoctorFinding, findingsOf, isWell } from '../prove/doctor/finding.ts';
import type { ConfigFacts, GatewayFacts } from '../prove/doctor/judge-gateway.ts';
import type { RefusedRequest } from '../prove/doctor/judge-sandbox.ts';
import type { RefusedRecord } from '../prove/doctor/try-runtimes.ts';
import type { LauncherName } from '../sandbox/run/sandbox-plan.ts';
import type { CliContext } from './cli-context.ts';
import { aboutOthers, configNobodyFollows } from './steps/config-here.ts';
import { credentialTroubles, lookAtCredentials } from './steps/credential-states.ts';
import { describeFindings, describeSum } from './steps/doctor-report.ts';
import { interruption, rememberGateway } from './steps/quiet-gateway.ts';
import { exitCode } from './terminal/exit-code.ts';
import { ProgressLine } from './terminal/progress-line.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface DoctorOptions {
  readonly sandbox?: string;
  readonly launcher?: LauncherName;
  readonly image?: string;
  readonly outside?: boolean;
}

const refusalsShown = 5;

export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command('doctor')
    .summary('check that everything works, and say what to do if not')
    .description(
      'Checks the running gateway, this machine and, from inside a sandbox, every runtime it finds there: each makes ' +
        'one real request through the door to a pretend host. Nothing leaves this machine.',
    )
    .option('--sandbox <ID>', 'check only this sandbox of the running gateway')
    .option('--outside', 'start no sandbox')
    .addOption(
      new Option(
        '--launcher <NAME>',
        'how the sandbox is isolated (default: bubblewrap, or namespaces without it)',
      ).choices(['bubblewrap', 'docker', 'namespaces', 'podman', 'unshare']),
    )
    .option('--image <IMAGE>', 'check the runtimes of this image, with Docker')
    .addHelpText(
      'after',
      `
Exits with 0 when everything works, 1 when something does not. Warnings, and runtimes that are not installed, do not count.

Examples:
  sallyport doctor
  sallyport doctor --sandbox sbx_4f1c
  sallyport doctor --image my-tools --json`,
    )
    .action(async (options: DoctorOptions, command: Command) => {
      const asJson = wantsJson(command);
      const findings: DoctorFinding[] = [];
      const tell = (found: readonly DoctorFinding[]): void => {
        if (!asJson) context.print(`${findings.length === 0 ? '' : '\n'}${describeFindings(context, found)}`);
        findings.push(...found);
      };
      if (options.sandbox !== undefined) tell(await lookAtSandbox(context, options.sandbox));
      else await lookAtAll(context, options, tell);
      const ok = isWell(findings);
      if (!ok) context.exitCode = exitCode.failure;
      if (asJson) printJson(context, { ok, findings });
      else context.print(`\n${describeSum(context, findings)}`);
    });
}

async function lookAtAll(
  context: CliContext,
  options: DoctorOptions,
  tell: (found: readonly DoctorFinding[]) => void,
): Promise<void> {
  const progress = new ProgressLine(context);
  progress.show('looking at the gateway and the machine');
  const [{ judgeGateway }, { judgeMachine }, { readMachine }, { judgeState }, { readState }] = await Promise.all([
    import('../prove/doctor/judge-gateway.ts'),
    import('../prove/doctor/judge-machine.ts'),
    import('../prove/doctor/read-machine.ts'),
    import('../prove/doctor/judge-state.ts'),
    import('../prove/doctor/read-state.ts'),
  ]);
  const [gateway, machine, state] = await Promise.all([
    askGateway(context),
    readMachine(context.env),
    readState(context.places),
  ]).finally(() => progress.clear());
  tell(judgeGateway(gateway));
  tell(judgeMachine(machine));
  tell(judgeState(state));
  if (options.outside !== true) tell(await lookInside(context, options, progress));
}

async function askGateway(context: CliContext): Promise<GatewayFacts> {
  const socket = context.places.adminSocket;
  try {
    const [report, { credentials }] = await Promise.all([
      context.admin.call<HealthReport>('GET', '/internal/health'),
      context.admin.call<{ credentials: CredentialStatus[] }>('GET', '/internal/credentials'),
    ]);
    const unfollowed = await configNobodyFollows(context);
    const here = unfollowed && { words: aboutOthers(unfollowed), config: await readConfig(context) };
    return { state: 'running', socket, report, troubles: credentialTroubles(credentials), here };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    if (error instanceof GatewayUnreachable) return { state: 'none', socket, config: await readConfig(context) };
    // A gateway that is not ready answers 503.
    if (error instanceof AdminRefused && error.status === 503)
      return { state: 'unwell', socket, said: 'it says that it is not ready (503): its journal or its doors fail' };
    return { state: 'unwell', socket, said };
  }
}

async function readConfig(context: CliContext): Promise<ConfigFacts> {
  const [{ findConfigFile, loadPolicy }, { formatPolicyError }, { thisMachine }] = await Promise.all([
    import('../policy/load/load-policy.ts'),
    import('../policy/schema/policy-error.ts'),
    import('../policy/load/machine-files.ts'),
  ]);
  const machine = thisMachine();
  const result = await loadPolicy(findConfigFile({ env: context.env, cwd: context.cwd, home: machine.home }), machine);
  if (!result.ok) return { ok: false, errors: result.errors.map(formatPolicyError) };
  const { origin, allow, warnings } = result.policy;
  const troubles = credentialTroubles(await lookAtCredentials(context, result.policy));
  return { ok: true, origin, rules: allow.length, warnings, troubles };
}

async function lookInside(
  context: CliContext,
  { launcher: wanted, image }: DoctorOptions,
  progress: ProgressLine,
): Promise<DoctorFinding[]> {
  const { findLauncher } = await import('../sandbox/run/find-launcher.ts');
  const { tryRuntimes } = await import('../prove/doctor/try-runtimes.ts');
  const { insideArea } = await import('../prove/doctor/judge-runtime.ts');
  const { ok, fail } = findingsOf(insideArea);
  const interrupted = interruption();
  const gateway = rememberGateway();
  try {
    const launcher = await findLauncher({ wanted, image, environment: context.env });
    progress.show('starting a sandbox');
    const { findings, startMs } = await tryRuntimes({
      launcher,
      environment: { ...context.env, PATH: context.userPath },
      signal: interrupted.signal,
      onProgress: (text) => progress.show(text),
      startGateway: gateway.start,
      refusals: () => readRefusals(gateway.admin()),
    });
    return [ok('sandbox', `by ${launcher.name}, started in ${startMs} ms`), ...findings];
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'LaunchError') throw error;
    const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
    return [fail('sandbox', `none could be started: ${error.message}`, hint || 'see what fails above')];
  } finally {
    progress.clear();
    interrupted.forget();
  }
}

async function readRefusals(admin: AdminPorts): Promise<RefusedRecord[]> {
  const filter = { sandbox: null, refusedOnly: true, limit: 1_000, follow: false };
  const records: RefusedRecord[] = [];
  for await (const record of admin.audit({ ...filter, signal: new AbortController().signal }))
    if ('host' in record) records.push(record as RefusedRecord);
  return records;
}

/** Throws what the gateway says when it knows no such sandbox. */
async function lookAtSandbox(context: CliContext, id: string): Promise<DoctorFinding[]> {
  const { judgeSandbox } = await import('../prove/doctor/judge-sandbox.ts');
  const { processBirth } = await import('../kit/process/process-birth.ts');
  const record = await context.admin.call<PublicRecord>('GET', `/internal/containers/${encodeURIComponent(id)}`);
  const { credentials } = await context.admin.call<{ credentials: CredentialStatus[] }>('GET', '/internal/credentials');
  const namespace = record.namespace as { readonly pid: number } | null | undefined;
  const holderLives = namespace == null ? null : processBirth(namespace.pid) !== null;
  const refused: RefusedRequest[] = [];
  const query = `sandbox=${encodeURIComponent(record.id)}&refused=1&limit=${refusalsShown}`;
  for await (const entry of context.admin.lines(`/internal/audit?${query}`)) {
    if ('host' in entry) refused.push(await askAgain(context, record.id, entry));
  }
  return judgeSandbox({ record, credentials, refused, nowMs: Date.now(), holderLives });
}

/** What would make it pass: the gateway itself is asked, as `sallyport check` does. */
async function askAgain(
  context: CliContext,
  sandbox: string,
  entry: Readonly<Record<string, unknown>>,
): Promise<RefusedRequest> {
  const [method, host, path] = [entry.method, entry.host, entry.path].map(String) as [string, string, string];
  const usual = entry.scheme === 'http' ? 80 : 443;
  const target = `${host}${entry.port === usual ? '' : `:${entry.port}`}${entry.kind === 'http' ? path : ''}`;
  let now: CheckResult | null = null;
  if (entry.kind === 'http' && entry.git == null) {
    const asked = { sandbox, method, url: `${entry.scheme}://${target}` };
    now = await context.admin.call<CheckResult>('POST', '/internal/check', asked).catch(() => null);
  }
  const [time, code, rule, reason] = [entry.time, entry.code, entry.rule, entry.reason].map(String) as [
    string,
    string,
    string,
    string,
  ];
  return { time, method, target, code, rule, reason, now };
}
