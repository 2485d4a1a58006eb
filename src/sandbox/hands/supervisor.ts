// What waits in a sandbox for further commands (`sallyport exec`): a shell, started by the same confined shell that becomes the
// command, so that it has exactly the command's rights and nothing else can come of it. It reads the names of orders from the
// pipe that released the command. Pure text; the orders lie in a folder that the sandbox can only read.
import { quoteForShell } from '../../kit/text/shell-quote.ts';

export interface Supervision {
  /** util-linux, as the sandbox sees it. */
  readonly setsid: string;
  readonly sh: string;
  /** Where the sandbox sees the orders. */
  readonly inside: string;
  /** Where the names of orders come from. */
  readonly descriptor: number;
}

/**
 * Lines for the confined shell, before it becomes the command. In a session of its own: keys and signals of the terminal are for
 * the command, and what it starts ignores none of them. It forks once and is no child of the command, which may wait for all its own.
 */
export function supervisorLines({ setsid, sh, inside, descriptor }: Supervision): string {
  const waiting = [
    `exec 3<&0 </dev/null`,
    'while read -r sallyport_order sallyport_signal sallyport_process <&3; do',
    'case $sallyport_order in',
    `kill) kill -s "$sallyport_signal" -- "$sallyport_process" ;;`,
    `[0-9a-f]*) ${quoteForShell(setsid)} --fork ${quoteForShell(sh)} ${quoteForShell(inside)}/"$sallyport_order"/start 3<&- ;;`,
    'esac',
    'done',
  ].join('\n');
  const closed = [4, 5, 6, 7, 8, 9].map((fd) => `${fd}>&-`).join(' ');
  const words = [setsid, '--fork', sh, '-c', waiting, 'sallyport-hands'].map(quoteForShell).join(' ');
  return `${words} <&${descriptor} >/dev/null 2>&1 3<&- ${closed}`;
}

export interface OrderText {
  readonly sh: string;
  readonly env: string;
  /** Where the sandbox sees the pipes of this order. */
  readonly inside: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** The terminal of the sandbox's own that it gets; null: pipes. */
  readonly terminal: string | null;
}

/** Where a script waits that could not even enter its folder, as a shell says it. */
const noFolder = 126;

/**
 * The script of one command. The shell leads the session and waits, so it must live through the signals that its group gets;
 * what it starts does not inherit that. The command says its own number, which only the sandbox knows.
 */
export function orderScript(order: OrderText): string {
  const { inside, terminal, workingDirectory } = order;
  const at = (name: string): string => quoteForShell(`${inside}/${name}`);
  const values = Object.entries(order.environment).map(([name, value]) => `${name}=${value}`);
  const begin = 'echo "pid $$" >&9; exec 9>&-; exec "$@"';
  const words = [order.sh, '-c', begin, 'sallyport', order.env, '-i', ...values, ...order.command];
  const streams =
    terminal === null
      ? [`exec <${at('in')} >${at('out')} 2>${at('err')}`]
      : [`exec <>${quoteForShell(terminal)} >&0 2>&0`];
  const folder = quoteForShell(workingDirectory);
  return [
    `exec 9>${at('status')} || exit`,
    'echo "group $$" >&9',
    ...streams.map((line) => `${line} || exit`),
    'trap : INT QUIT TERM HUP USR1 USR2',
    `if cd -- ${folder} 2>/dev/null; then`,
    `${words.map(quoteForShell).join(' ')}`,
    'else',
    `echo ${quoteForShell(`sallyport: there is no folder ${workingDirectory} in the sandbox, or it may not be entered`)} >&2`,
    `(exit ${noFolder})`,
    'fi',
    'echo "exit $?" >&9',
  ].join('\n');
}
