// Network namespaces for tests: a holder process in one of its own with only `lo`, where every address in the world is
// local. Clients are run in it with nsenter. Nothing of it outlives the test that made it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientOptions, type ClientRun, runClient, type StartedClient, startClient } from './run-client.ts';

export interface TestNamespace {
  /** The process that holds it. */
  readonly pid: number;
  /** Runs a program in it, with no environment but what is given. */
  run(command: readonly string[], options?: ClientOptions): Promise<ClientRun>;
  /** Starts one and does not wait for its end: whoever starts it kills it. */
  start(command: readonly string[], options?: ClientOptions): StartedClient;
  end(): Promise<void>;
}

export interface NamespaceOptions {
  /** Default: it has a user namespace of its own too, as an ordinary user would make it. */
  readonly userNamespace?: boolean;
  /** Made by this user, who is nobody in /etc/passwd. */
  readonly uid?: number;
  /** More to do in it, a shell command. */
  readonly also?: string;
}

/** As the door does it, for tests without one. */
const bindEveryAddress = [
  'ip link set lo up',
  'ip route replace local 0.0.0.0/0 dev lo',
  'ip route replace local 127.0.0.0/8 dev lo',
  'ip -6 route replace local ::/0 dev lo',
];

export async function makeNamespace(options: NamespaceOptions = {}): Promise<TestNamespace> {
  const steps = [...bindEveryAddress];
  if (options.also !== undefined) steps.push(options.also);
  const [program, ...args] = [
    ...(options.uid === undefined ? [] : asUser(options.uid)),
    'unshare',
    ...(options.userNamespace === false ? ['-n'] : ['-U', '-r', '-n']),
    'sh',
    '-c',
    [...steps, 'echo ready', 'exec cat'].join(' && '),
  ];
  // It ends with its input, so with this process, whatever becomes of that.
  const holder = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  holder.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk;
  });
  const ended = once(holder, 'exit');
  const isReady = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error(`no namespace could be made: ${complaint}`);
  // The tests are root, which need not enter the user namespace: so the files of this machine stay readable.
  const enter = ['--target', String(holder.pid), '--net', '--'];
  return {
    pid: holder.pid!,
    run: (command, given) => runClient('nsenter', [...enter, ...command], given),
    start: (command, given) => startClient('nsenter', [...enter, ...command], given),
    async end() {
      holder.kill('SIGKILL');
      await ended;
    },
  };
}

/** Begins a command that is to be run by an ordinary user. */
export function asUser(uid: number): string[] {
  return ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
}
