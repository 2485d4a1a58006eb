// What plain unshare does in place of bubblewrap, as a shell script. Pure. It runs as the first process of the sandbox with
// every capability over its namespaces, lays masks and binds over the host's files, gives all capabilities up, and starts
// the command in a user namespace below, from where none of it can be undone.
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { waitForOrders } from '../hands/exec-in-namespace.ts';
import { LaunchError, type Mount, type SandboxPlan } from '../run/sandbox-plan.ts';
import type { SandboxUser } from '../run/sandbox-user.ts';
import { commandErrors, firstInput, mountedMark, release, secondInput, startedMark } from './namespace-holder.ts';

export interface UnshareTools {
  readonly sh: string;
  readonly env: string;
  readonly cat: string;
  readonly mount: string;
  readonly umount: string;
  readonly unshare: string;
  readonly setpriv: string;
  /** A command that loads the filter it reads from `secondInput` and goes on with its arguments. Null: none can. */
  readonly filterLoader: readonly string[] | null;
}

/** Without a loader: the filter is there already. */
export type CommandTools = Pick<UnshareTools, 'sh' | 'cat' | 'unshare' | 'setpriv'> &
  Partial<Pick<UnshareTools, 'filterLoader'>>;

/** Where the host's files stay in reach until all is mounted: a source may lie below what was covered before. */
const stash = '/sys';

/** Read from `firstInput`, so that no value stands in the list of processes. */
export function plainUnshareEnvironment(plan: SandboxPlan, env: string): Buffer {
  const values = Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`);
  return Buffer.from(`set -- ${words([env, '-i', ...values])} "$@"\n`);
}

export function plainUnshareScript(
  plan: SandboxPlan,
  user: SandboxUser,
  tools: UnshareTools,
  readOnlyOptions: (path: string) => string,
): string {
  const mount = (...args: readonly string[]): string => words([tools.mount, ...args]);
  return [
    mount('--rbind', '/', stash),
    ...plan.mounts.flatMap((each) => mountLines(each, mount, readOnlyOptions)),
    // Of its own, or the command would see every process of the host.
    mount('-t', 'proc', '-o', 'nosuid,nodev,noexec', 'proc', '/proc'),
    words([tools.umount, '-l', stash]),
    // The host's /sys shows its network; one with a network namespace of its own cannot be had here.
    mount('-t', 'tmpfs', '-o', 'ro,nosuid,nodev,noexec', 'tmpfs', stash),
    goOnAsCommand(plan, user, tools),
  ].join('\n');
}

/** For whoever has made the mounts, as the first process of the sandbox. */
export function goOnAsCommand(plan: SandboxPlan, user: SandboxUser, tools: CommandTools): string {
  return [
    // Looked at from outside before anything else is started; the end of the input means that nobody did.
    `echo ${quoteForShell(mountedMark)} >&2`,
    `read -r released <&${release} || exit 125`,
    `exec ${words(commandWords(plan, user, tools))}${plan.orders === undefined ? ` ${release}<&-` : ''}`,
  ].join('\n');
}

function commandWords(plan: SandboxPlan, user: SandboxUser, tools: CommandTools): readonly string[] {
  const inside = [
    `cd ${quoteForShell(plan.workingDirectory)} || exit 125`,
    `eval "$(${quoteForShell(tools.cat)} <&${firstInput})"`,
    ...waitForOrders(plan, release),
    `echo ${quoteForShell(startedMark)} >&2`,
    `exec "$@" 2>&${commandErrors} ${commandErrors}>&- ${firstInput}<&- ${secondInput}<&- ${release}<&-`,
  ].join('\n');
  return [
    // One is kept: the kernel asks for it of whoever makes a user namespace in which somebody is its uid 0. The command
    // does not have it.
    ...[tools.setpriv, '--no-new-privs', '--bounding-set=-all,+setfcap', '--inh-caps=-all', '--'],
    // Stays as the first process and waits: a command in its place would not be ended by signals it has no handler for.
    // Signals of the terminal are for the command: sh would end by them afterwards, whatever the command made of them.
    ...[tools.sh, '-c', 'trap : INT QUIT TERM HUP; "$@"; exit $?', 'sallyport-init'],
    ...[tools.unshare, '--user', `--map-user=${user.uid}`, `--map-group=${user.gid}`, '--keep-caps', '--'],
    // Kept for a moment, because taking them away for good needs one.
    ...[tools.setpriv, '--bounding-set=-all', '--inh-caps=-all', '--'],
    ...(tools.filterLoader ?? []),
    ...[tools.sh, '-c', inside, 'sallyport', ...plan.command],
  ];
}

function mountLines(
  each: Mount,
  mount: (...args: readonly string[]) => string,
  readOnlyOptions: (path: string) => string,
): readonly string[] {
  const { target } = each;
  switch (each.kind) {
    case 'read-write':
      return [mount('--rbind', `${stash}${each.source}`, target)];
    case 'read-only':
      return [mount('--rbind', `${stash}${each.source}`, target), mount('-o', readOnlyOptions(each.source), target)];
    case 'empty':
      return [mount('-t', 'tmpfs', '-o', 'nosuid,nodev,mode=0755', 'tmpfs', target)];
    case 'masked-file':
      return [mount('--bind', `${stash}/dev/null`, target), mount('-o', readOnlyOptions('/dev/null'), target)];
    case 'masked-folder':
      return [mount('-t', 'tmpfs', '-o', 'ro,nosuid,nodev,noexec,mode=0755', 'tmpfs', target)];
    case 'link':
      throw new LaunchError(
        `plain unshare cannot make the link ${target}: the files it shows are those of the host`,
        'use bubblewrap or Docker',
      );
  }
}

function words(all: readonly string[]): string {
  return all.map(quoteForShell).join(' ');
}
