// Lays out the ground: a pretend home with baits, a pretend internet, a gateway of its own, the neighbour and the attacker in
// real sandboxes. Everything is below one temporary folder, and whatever was begun is undone, also when a later step fails.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { placesIn } from '../../kit/files/home.ts';
import type { Launcher } from '../../sandbox/run/sandbox-plan.ts';
import { type SandboxRegistrar, type StartedSandbox, startSandbox } from '../../sandbox/run/start-sandbox.ts';
import { type PretendGithub, startPretendGithub } from '../internet/pretend-github.ts';
import { type PretendWorld, startPretendWorld } from '../internet/pretend-world.ts';
import { Attacker } from './attacker.ts';
import { canaryVariable } from './attacks/environment.ts';
import { harmlessFile, harmlessText, plantedLinks } from './attacks/files.ts';
import type { Ground, Neighbour } from './ground.ts';
import { insideScript } from './inside/inside-script.ts';
import { neighbourScript } from './inside/neighbour-script.ts';
import { startOutsideServices, startUserProcess } from './outside-services.ts';
import { plantBaits } from './plant-baits.ts';
import {
  foreignRepository,
  modelHost,
  neighbourRepository,
  ownRepository,
  provider,
  providerHost,
  redteamPolicy,
  repositoryNumbers,
} from './redteam-hosts.ts';

/** The gateway under attack, however it was started. */
export interface GatewayUnderAttack {
  readonly registrar: SandboxRegistrar;
  stop(): Promise<void>;
}

export interface AttackGroundPorts {
  readonly launcher: Launcher;
  /** The user's own environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** State in `home`, policy from `config`. */
  startGateway(home: string, config: string): Promise<GatewayUnderAttack>;
  /** For those who want to see holes: another policy, another registration of the attacker. */
  readonly loosen?: {
    policy(document: Record<string, unknown>): Record<string, unknown>;
    readonly registration: Readonly<Record<string, unknown>>;
  };
}

export interface PreparedGround {
  readonly ground: Ground;
  readonly attacker: Attacker;
  readonly world: PretendWorld;
  readonly github: PretendGithub;
  /** What was reached outside that should not have been, in order. */
  readonly visited: readonly string[];
  clear(): Promise<void>;
}

const toolNames = ['python3', 'git', 'curl', 'ip', 'nsenter'] as const;

export async function prepareGround(ports: AttackGroundPorts): Promise<PreparedGround> {
  const undo: (() => Promise<unknown> | unknown)[] = [];
  const clear = async (): Promise<void> => {
    for (const step of undo.splice(0)) await Promise.resolve(step()).catch(() => {});
  };
  try {
    return { ...(await lay(ports, (step) => undo.unshift(step))), clear };
  } catch (error) {
    await clear();
    throw error;
  }
}

async function lay(
  ports: AttackGroundPorts,
  later: (step: () => Promise<unknown> | unknown) => void,
): Promise<Omit<PreparedGround, 'clear'>> {
  await removeLeftovers();
  const root = realpathSync(mkdtempSync(join(tmpdir(), `sallyport-redteam-${process.pid}-`)));
  later(() => rm(root, { recursive: true, force: true }));
  const [home, gatewayHome] = [join(root, 'home'), join(root, 'state')];
  const { baits, variables, credentialFiles } = plantBaits(home, join(root, 'credentials'));
  const sockets = { docker: join(home, '.docker/run/docker.sock'), 'ssh-agent': join(root, 'agent/ssh.sock') };
  const visited: string[] = [];
  const services = await startOutsideServices(sockets, (name) => visited.push(name));
  later(() => services.close());
  const shell = startUserProcess(variables);
  later(() => shell.close());

  const token = baits.find(({ name }) => name === 'credential github')!.secret;
  const github = await startPretendGithub(join(root, 'repositories'), token, [
    { name: ownRepository, number: repositoryNumbers.own, branches: ownBranches },
    { name: foreignRepository, number: repositoryNumbers.foreign, branches: { main: { 'README.md': 'private\n' } } },
    { name: neighbourRepository, number: repositoryNumbers.neighbour, branches: { main: { 'README.md': 'garden\n' } } },
  ]);
  const world = await startPretendWorld((name) =>
    name === providerHost || name === modelHost ? provider : github.hosts.get(name),
  );
  later(() => world.close());

  const config = join(root, 'sallyport.yaml');
  const caFile = join(root, 'pretend-internet.pem');
  writeFileSync(caFile, world.certificate);
  const { servicePort, inwardPort } = services;
  const document = redteamPolicy({ world: world.address, caFile, credentialFiles, inwardPort });
  writeFileSync(config, stringify(ports.loosen?.policy(document) ?? document));
  const gateway = await ports.startGateway(gatewayHome, config);
  later(() => gateway.stop());

  const workingDirectory = layWorkingDirectory(home, gatewayHome);
  const environment = { ...ports.environment, ...variables, HOME: home, SSH_AUTH_SOCK: sockets['ssh-agent'] };
  const start = async (folder: string, script: string, registration: object): Promise<StartedSandbox> => {
    const started = await startSandbox(
      {
        launcher: ports.launcher,
        // An image brings a Node of its own.
        command: [
          ports.launcher.name === 'docker' || ports.launcher.name === 'podman' ? 'node' : process.execPath,
          '-e',
          script,
        ],
        stdio: 'piped',
        registration: { ...registration },
        workingDirectory: folder,
        environment,
        userHome: home,
        stateFolder: gatewayHome,
        runFolders: ports.launcher.name === 'unshare' ? join(root, 'sandboxes') : placesIn(gatewayHome).sandboxFolders,
        persistentHome: null,
        mounts: [],
        variables: [canaryVariable],
        hideEnvFiles: false,
      },
      Promise.resolve(gateway.registrar),
    );
    later(async () => {
      started.kill();
      await started.ended;
    });
    return started;
  };
  const neighbour = await startNeighbour(start, join(home, 'other-project'), visited);
  const started = await start(workingDirectory, insideScript(), {
    repos: [ownRepository],
    ...ports.loosen?.registration,
  });
  const attacker = new Attacker(started.streams!);
  await attacker.ready();
  const ground: Ground = {
    id: started.grant.id,
    ca: started.grant.caCertificate,
    workingDirectory,
    home,
    gatewayHome,
    gatewayPid: process.pid,
    hostNamespaces: { pid: namespaceOf('pid'), net: namespaceOf('net'), mnt: namespaceOf('mnt') },
    baits,
    sockets,
    servicePort,
    inwardPort,
    neighbour,
    tools: await findTools(attacker),
  };
  return { ground, attacker, world, github, visited };
}

/** Of a red team that was killed. Nothing in it is secret, and it is ours. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const owner = /^sallyport-redteam-(\d+)-/.exec(name)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    const path = join(tmpdir(), name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true && found.uid === process.geteuid?.())
      await rm(path, { recursive: true, force: true });
  }
}

const ownBranches = {
  main: { 'README.md': 'read me\n', '.github/workflows/ci.yml': 'on: push\n' },
  'sandbox/work': { 'work.txt': 'work\n' },
};

/** Below the pretend home, as a project is; with links that lead out of it. */
function layWorkingDirectory(home: string, gatewayHome: string): string {
  const folder = join(home, 'project');
  // A repository as git makes one, as far as the host's own git would run something of it.
  for (const part of ['.git/hooks', '.git/info', '.git/objects', '.git/refs'])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(folder, '.git/config'), '[core]\n\trepositoryformatversion = 0\n');
  writeFileSync(join(folder, '.git/hooks/README'), 'no hooks here\n');
  writeFileSync(join(folder, harmlessFile), `${harmlessText}\n`);
  symlinkSync(join(home, '.ssh/id_ed25519'), join(folder, plantedLinks.key));
  symlinkSync(gatewayHome, join(folder, plantedLinks.state));
  symlinkSync('/', join(folder, plantedLinks.root));
  return folder;
}

function namespaceOf(name: string): string {
  return readlinkSync(`/proc/self/ns/${name}`);
}

async function findTools(attacker: Attacker): Promise<ReadonlySet<string>> {
  const env = { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' };
  const found = await attacker.attempt(
    toolNames.flatMap((name) => [
      { do: 'run' as const, argv: ['sh', '-c', `command -v ${name}`] },
      { do: 'run' as const, argv: ['sh', '-c', `command -v ${name}`], env },
    ]),
  );
  return new Set(toolNames.filter((_, i) => found[2 * i]?.exit === 0 || found[2 * i + 1]?.exit === 0));
}

// The neighbour of the attacker: another sandbox of the same gateway, started the same way, and found again among the
// processes of the host, so that the attacker can be told its number.
/** `visited` hears who was reached. */
async function startNeighbour(
  start: (folder: string, script: string, registration: object) => Promise<StartedSandbox>,
  folder: string,
  visited: string[],
): Promise<Neighbour> {
  const abstractName = `redteam-neighbour-${process.pid}`;
  const sharedFile = `/dev/shm/${abstractName}`;
  const started = await start(folder, neighbourScript(abstractName, sharedFile, 'nothing secret'), {
    repos: [neighbourRepository],
  });
  const { stdout, stderr } = started.streams!;
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString()}`.slice(-500);
  });
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: stdout })
      .on('line', (line) => {
        const said = JSON.parse(line) as { port?: number; visited?: string };
        if (said.port !== undefined) resolve(said.port);
        if (said.visited !== undefined) visited.push(said.visited);
      })
      .on('close', () => reject(new Error(`the neighbour has ended: ${errors}`)));
  });
  const { id, caCertificate: ca } = started.grant;
  return { id, pid: findProcess(abstractName), port, abstractName, sharedFile, ca };
}

/** The process itself, not those that started it: the one furthest inside. */
function findProcess(words: string): number {
  let found = { pid: 0, depth: 0 };
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (Number(name) === process.pid || !readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(words)) continue;
      const numbers = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] ?? '';
      const depth = numbers.split(/\s+/).length;
      if (depth > found.depth) found = { pid: Number(name), depth };
    } catch {
      // It has ended meanwhile, or is somebody else's.
    }
  }
  return found.pid;
}
