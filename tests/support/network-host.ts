// Machines for tests: network namespaces with interfaces of their own, joined by cables that begin and end in them, so that
// nothing of it is ever seen in the network of this machine. Gone with the process that holds it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientOptions, type ClientRun, runClient, type StartedClient, startClient } from './run-client.ts';

export interface NetworkHost {
  readonly pid: number;
  /** Runs `ip` or another program in it that must succeed, and returns what it prints. */
  configure(...command: readonly string[]): string;
  /** Runs a program in it, with no environment but what is given; `resolvConf`: a file that stands for /etc/resolv.conf. */
  run(command: readonly string[], options?: HostRunOptions): Promise<ClientRun>;
  start(command: readonly string[], options?: HostRunOptions): StartedClient;
  /** How a command begins that is to run in it. */
  entering(resolvConf?: string): string[];
  end(): Promise<void>;
}

export interface HostRunOptions extends ClientOptions {
  readonly resolvConf?: string;
}

export async function makeNetworkHost(): Promise<NetworkHost> {
  // It ends with its input, so with this process, whatever becomes of that.
  const holder = spawn('unshare', ['-n', 'sh', '-c', 'ip link set lo up && echo ready && exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  const isReady = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error('no network namespace could be made');
  const enter = ['nsenter', '--target', String(holder.pid), '--net', '--'];
  const entering = (resolvConf?: string): string[] =>
    resolvConf === undefined
      ? enter
      : [...enter, 'unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolvConf];
  const split = (command: readonly string[], options: HostRunOptions): [string, string[]] => {
    const [program, ...args] = [...entering(options.resolvConf), ...command];
    return [program!, args];
  };
  return {
    pid: holder.pid!,
    configure: (...command) => execFileSync(enter[0]!, [...enter.slice(1), ...command], { encoding: 'utf8' }),
    run: (command, options = {}) => runClient(...split(command, options), options),
    start: (command, options = {}) => startClient(...split(command, options), options),
    entering,
    async end() {
      holder.kill('SIGKILL');
      await ended;
    },
  };
}

/** A cable from one to the other, with the names its ends have there. */
export function joinHosts(one: NetworkHost, oneEnd: string, other: NetworkHost, otherEnd: string): void {
  one.configure('ip', 'link', 'add', oneEnd, 'type', 'veth', 'peer', 'name', otherEnd, 'netns', String(other.pid));
  one.configure('ip', 'link', 'set', oneEnd, 'up');
  other.configure('ip', 'link', 'set', otherEnd, 'up');
}

/** `nodad`: an IPv6 address is there at once. */
export function giveAddress(host: NetworkHost, link: string, ...addresses: readonly string[]): void {
  for (const address of addresses) {
    const more = address.includes(':') ? ['nodad'] : [];
    host.configure('ip', 'address', 'add', address, 'dev', link, ...more);
  }
}
