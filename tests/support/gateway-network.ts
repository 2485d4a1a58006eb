// An internal network for tests: a gateway with its door on it, two sandboxes and a stranger, each a machine of its own, and
// beyond the gateway an outside world that hears every question that leaves. The gateway is the built command.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { eventually } from './eventually.ts';
import type { SeenRequest } from './fake-upstream.ts';
import { journalLines } from './journal-lines.ts';
import { giveAddress, joinHosts, makeNetworkHost, type NetworkHost } from './network-host.ts';
import type { ClientRun } from './run-client.ts';
import { type BuiltCommand, buildCommand } from './spawn-gateway.ts';
import type { TestCa } from './test-ca.ts';
import { type AdminReply, callAdmin } from './test-gateway.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export const door = { v4: '172.30.0.2', v6: '2001:db8:30::2' };
export const addresses = {
  first: { v4: '172.30.0.11', v6: '2001:db8:30::11' },
  second: { v4: '172.30.0.12', v6: '2001:db8:30::12' },
  stranger: { v4: '172.30.0.13', v6: '2001:db8:30::13' },
};

export interface GatewayNetwork {
  readonly gateway: NetworkHost;
  readonly first: NetworkHost;
  readonly second: NetworkHost;
  readonly stranger: NetworkHost;
  readonly caPath: string;
  /** A resolv.conf that names this resolver (default: the door). */
  resolvConf(nameserver?: string, more?: string): string;
  /** curl as a sandbox would call it, that looks names up itself. */
  curl(from: NetworkHost, ...args: readonly string[]): Promise<ClientRun>;
  admin(method: string, path: string, body?: unknown): Promise<AdminReply>;
  register(registration: Record<string, unknown>): Promise<string>;
  journal(): Record<string, unknown>[];
  /** What reached the far side. */
  seen(): Promise<SeenRequest[]>;
  /** What the outside world was asked on port 53, of any address, in hex. */
  heardOutside(): string;
  writeConfig(document: Record<string, unknown>): void;
  output(): string;
  end(): Promise<void>;
}

export interface GatewayNetworkOptions {
  readonly farCa: TestCa;
  /** Names of the far side. */
  readonly names: readonly string[];
  /** The policy, given where the far side is, and its git server. */
  readonly document: (upstream: string, git: string) => Record<string, unknown>;
  /** Public repositories there, each with one commit. */
  readonly repositories?: readonly string[];
  /** Default: on IPv4 and IPv6. */
  readonly listen?: readonly string[];
}

export async function openGatewayNetwork(options: GatewayNetworkOptions): Promise<GatewayNetwork> {
  const hosts = await Promise.all(Array.from({ length: 5 }, makeNetworkHost));
  const [gateway, first, second, stranger, outside] = hosts as [
    NetworkHost,
    NetworkHost,
    NetworkHost,
    NetworkHost,
    NetworkHost,
  ];
  const built = buildCommand({});
  const children: ChildProcess[] = [];
  let far: FarSide | null = null;
  const end = async (): Promise<void> => {
    await far?.end();
    for (const child of children) child.kill('SIGKILL');
    const alive = children.filter((child) => child.exitCode === null && child.signalCode === null);
    await Promise.all(alive.map((child) => once(child, 'exit')));
    await Promise.all(hosts.map((host) => host.end()));
    built.remove();
  };
  try {
    layCables(gateway, { first, second, stranger }, outside);
    const spawnIn = (host: NetworkHost, command: readonly string[], resolvConf?: string, env = {}): ChildProcess => {
      const [program, ...args] = [...host.entering(resolvConf), ...command];
      const child = spawn(program!, args, {
        env: { PATH: process.env.PATH ?? '', HOME: built.home, ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      children.push(child);
      return child;
    };
    const written = new Map<string, string>();
    const resolvConf = (nameserver: string = door.v4, more = ''): string => {
      const text = `nameserver ${nameserver}\n${more}`;
      const before = written.get(text);
      if (before !== undefined) return before;
      // Once: a client that reads it while it is written anew finds it empty, and asks its own machine.
      const path = join(built.home, `resolv-${written.size}.conf`);
      writeFileSync(path, text);
      written.set(text, path);
      return path;
    };
    const heard = collect(spawnIn(outside, ['python3', '-u', '-c', listener]));
    far = await startFarSide(options, built, (command) => spawnIn(gateway, command));
    const writeConfig = (document: Record<string, unknown>): void =>
      built.writeConfig({
        listen: { proxy: '127.0.0.1:0', gateway: options.listen ?? [door.v4, door.v6] },
        ...document,
      });
    writeConfig(options.document(far.address, far.gitAddress));
    const env = { SALLYPORT_HOME: join(built.home, 'state'), SALLYPORT_CONFIG: join(built.home, 'sallyport.yaml') };
    const main = join(built.home, 'package', 'dist', 'main.cjs');
    const up = spawnIn(gateway, [process.execPath, main, 'up', '--json'], resolvConf('192.0.2.53'), env);
    const output = collect(up);
    const isUp = (): boolean => {
      if (up.exitCode !== null) throw new Error(`the gateway ended: ${output()}`);
      return output().includes('"gateway ');
    };
    await eventually(isUp, 'the gateway is up', 40_000);
    await eventually(() => heard().includes('ready'), 'the outside world listens');
    const caPath = join(env.SALLYPORT_HOME, 'ca', 'ca.pem');
    const admin = (method: string, path: string, body?: unknown): Promise<AdminReply> =>
      callAdmin(join(env.SALLYPORT_HOME, 'run', 'admin.sock'), method, path, body);
    return {
      gateway,
      first,
      second,
      stranger,
      caPath,
      resolvConf,
      admin,
      writeConfig,
      output,
      end,
      curl: (from, ...args) =>
        from.run(['curl', '-sS', '-m', '30', '--cacert', caPath, '-g', ...args], { resolvConf: resolvConf() }),
      async register(registration) {
        const reply = await admin('POST', '/internal/containers', registration);
        if (reply.status !== 201) throw new Error(`register: ${reply.status} ${reply.body}`);
        return reply.json<{ id: string }>().id;
      },
      journal: () => journalLines(join(env.SALLYPORT_HOME, 'journal')),
      seen: far.seen,
      heardOutside: () => heard().replace('ready\n', ''),
    };
  } catch (error) {
    await end();
    throw error;
  }
}

function layCables(gateway: NetworkHost, sandboxes: Record<keyof typeof addresses, NetworkHost>, outside: NetworkHost) {
  gateway.configure('ip', 'link', 'add', 'sbx0', 'type', 'bridge');
  giveAddress(gateway, 'sbx0', `${door.v4}/24`, `${door.v6}/64`);
  gateway.configure('ip', 'link', 'set', 'sbx0', 'up');
  for (const [name, { v4, v6 }] of Object.entries(addresses)) {
    const host = sandboxes[name as keyof typeof addresses];
    joinHosts(gateway, `to-${name}`, host, 'eth0');
    gateway.configure('ip', 'link', 'set', `to-${name}`, 'master', 'sbx0');
    giveAddress(host, 'eth0', `${v4}/24`, `${v6}/64`);
    host.configure('ip', 'route', 'add', 'default', 'via', door.v4);
  }
  joinHosts(gateway, 'world', outside, 'eth0');
  giveAddress(gateway, 'world', '192.0.2.2/24');
  giveAddress(outside, 'eth0', '192.0.2.53/24');
  gateway.configure('ip', 'route', 'add', 'default', 'via', '192.0.2.53');
  // Whatever address it asks, it is heard there.
  outside.configure('ip', 'route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo');
}

const listener = `
import select, socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('', 53))
tcp = socket.create_server(('', 53))
print('ready')
while True:
    for one in select.select([udp, tcp], [], [])[0]:
        print(one.recvfrom(4096)[0].hex() if one is udp else 'a connection from ' + str(one.accept()[1]))
`;

interface FarSide {
  readonly address: string;
  readonly gitAddress: string;
  seen(): Promise<SeenRequest[]>;
  /** It leaves its repositories behind otherwise. */
  end(): Promise<unknown>;
}

/** In the gateway's own network, where `upstream.resolve` leads. Asked with a line, it says what it has seen. */
async function startFarSide(
  { farCa, names, repositories = [] }: GatewayNetworkOptions,
  built: BuiltCommand,
  spawnHere: (command: readonly string[]) => ChildProcess,
): Promise<FarSide> {
  const contents = `
import { startFakeUpstream } from './tests/support/fake-upstream.ts';
import { startGitUpstream } from './tests/support/git-upstream.ts';
const issued = ${JSON.stringify(farCa.issue(names))};
const ca = { path: '', issue: () => issued };
const upstream = await startFakeUpstream(ca, []);
const git = await startGitUpstream(ca, {});
for (const name of ${JSON.stringify(repositories)}) {
  const bare = await git.create(name, { isPublic: true });
  await bare.commit({ branch: 'main', files: { readme: 'hello\\n' } });
}
console.log(JSON.stringify([upstream.address, git.address]));
process.stdin.on('data', () => console.log(JSON.stringify(upstream.seen)));
process.stdin.on('end', async () => { await git.close(); process.exit(); });
`;
  const outfile = join(built.home, 'far-side.mjs');
  buildSync({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
  const child = spawnHere([process.execPath, outfile]);
  const output = collect(child);
  const lines = (): string[] => output().split('\n').slice(0, -1);
  const [address, gitAddress] = JSON.parse(await eventually(() => lines()[0], 'the far side')) as [string, string];
  const ended = once(child, 'exit');
  let asked = 0;
  return {
    address,
    gitAddress,
    end() {
      child.stdin?.end();
      return ended;
    },
    async seen() {
      const line = ++asked;
      child.stdin?.write('\n');
      return JSON.parse(await eventually(() => lines()[line], 'what the far side saw')) as SeenRequest[];
    },
  };
}

function collect(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text += chunk;
    });
  }
  return () => text;
}
