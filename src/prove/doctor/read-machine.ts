// What this machine can do, asked of the machine itself: programs, namespaces, kernel settings, Docker. Starts short-lived
// programs, changes nothing, and judges nothing.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { explainDocker } from '../../sandbox/docker/docker-command.ts';
import { findTool } from '../../sandbox/namespace/find-tool.ts';
import { isContainer } from '../../sandbox/namespace/why-no-namespaces.ts';
import type { DockerFacts, MachineFacts, ToolFacts } from './judge-machine.ts';

const waitMs = 8_000;

/** How each program says its version; a program without an entry is only looked for. */
const versionOptions: Readonly<Record<string, readonly string[]>> = {
  bwrap: ['--version'],
  unshare: ['--version'],
  nsenter: ['--version'],
  setpriv: ['--version'],
  git: ['--version'],
};

const settings = [
  'user.max_user_namespaces',
  'kernel.unprivileged_userns_clone',
  'kernel.apparmor_restrict_unprivileged_userns',
];

export async function readMachine(environment: Readonly<Record<string, string | undefined>>): Promise<MachineFacts> {
  const path = environment.PATH ?? '';
  const [tools, namespaces, docker] = await Promise.all([
    Promise.all(Object.keys(versionOptions).map((name) => readTool(name, path))),
    makeNamespace(path),
    readDocker(environment),
  ]);
  return {
    nodeVersion: process.versions.node,
    architecture: process.arch,
    isRoot: process.geteuid?.() === 0,
    isContainer: isContainer(),
    tools,
    namespaces,
    settings: new Map(settings.map((name) => [name, readText(`/proc/sys/${name.replaceAll('.', '/')}`)])),
    hasSeccomp: (readText('/proc/sys/kernel/seccomp/actions_avail') ?? '').includes('errno'),
    hasIpv6: existsSync('/proc/net/if_inet6') && readText('/proc/sys/net/ipv6/conf/all/disable_ipv6') !== '1',
    docker,
  };
}

async function readTool(name: string, path: string): Promise<ToolFacts> {
  const file = findTool(name, path);
  if (file === null) return { name, file, version: null };
  const { stdout, stderr } = await run(file, versionOptions[name]!);
  const version = /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? null;
  return { name, file, version };
}

/** The same that a sandbox needs, at once undone. */
async function makeNamespace(path: string): Promise<MachineFacts['namespaces']> {
  const unshare = findTool('unshare', path);
  if (unshare === null) return { made: false, said: 'unshare is not installed' };
  // A container may allow namespaces and yet no /proc in them.
  const own = [
    '--user',
    '--map-root-user',
    '--net',
    '--pid',
    '--fork',
    '--mount',
    'mount',
    '-t',
    'proc',
    'proc',
    '/proc',
  ];
  const { failed, stderr } = await run(unshare, own);
  return { made: failed === null, said: stderr.trim() };
}

async function readDocker(environment: Readonly<Record<string, string | undefined>>): Promise<DockerFacts> {
  const { failed, stdout, stderr } = await run('docker', ['info', '--format', '{{json .}}'], environment);
  if (failed !== null) {
    if ((failed as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' };
    const { message, hint } = explainDocker(stderr, failed);
    return { state: 'unreachable', message, hint };
  }
  try {
    const info = JSON.parse(stdout) as Record<string, unknown>;
    const version = info.ServerVersion;
    // Without a server the command ends well, and says so inside.
    if (typeof version !== 'string' || version === '') {
      const { message, hint } = explainDocker(
        `Cannot connect to the Docker daemon: ${String(info.ServerErrors ?? '')}`,
      );
      return { state: 'unreachable', message, hint };
    }
    return {
      state: 'reachable',
      version,
      system: String(info.OperatingSystem ?? ''),
      isRootless: JSON.stringify(info.SecurityOptions ?? []).includes('rootless'),
      isElsewhere: /^(?:tcp|ssh|https?):/.test(environment.DOCKER_HOST ?? ''),
    };
  } catch {
    return {
      state: 'unreachable',
      message: 'docker info did not answer with JSON',
      hint: 'check that `docker info` works',
    };
  }
}

interface Run {
  readonly failed: Error | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = { PATH: process.env.PATH },
): Promise<Run> {
  return new Promise((resolve) => {
    const env = { ...environment, LC_ALL: 'C' };
    execFile(program, args, { env, timeout: waitMs, maxBuffer: 4 << 20 }, (failed, stdout, stderr) =>
      resolve({ failed, stdout, stderr }),
    );
  });
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
