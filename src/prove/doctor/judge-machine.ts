// What this machine can do, judged: what `sallyport run` needs of Node, the kernel and a few programs, and how to get what is
// missing. Pure: the facts are handed in.
import { whyNoNamespaces } from '../../sandbox/namespace/why-no-namespaces.ts';
import { howToInstallBubblewrap } from '../../sandbox/run/bubblewrap-package.ts';
import { type DoctorFinding, findingsOf } from './finding.ts';

export interface ToolFacts {
  readonly name: string;
  readonly file: string | null;
  readonly version: string | null;
}

export type DockerFacts =
  | { readonly state: 'absent' }
  | { readonly state: 'unreachable'; readonly message: string; readonly hint: string }
  | {
      readonly state: 'reachable';
      readonly version: string;
      readonly system: string;
      readonly isRootless: boolean;
      /** DOCKER_HOST leads to another machine. */
      readonly isElsewhere: boolean;
    };

export interface MachineFacts {
  readonly nodeVersion: string;
  readonly architecture: string;
  readonly isRoot: boolean;
  readonly isContainer: boolean;
  readonly tools: readonly ToolFacts[];
  /** Whether a user, network and process namespace could be made just now. */
  readonly namespaces: { readonly made: boolean; readonly said: string };
  /** Kernel settings by name; null: this kernel has no such setting. */
  readonly settings: ReadonlyMap<string, string | null>;
  readonly hasSeccomp: boolean;
  readonly hasIpv6: boolean;
  readonly docker: DockerFacts;
}

/** Package by program, where it has another name. */
const packages: Readonly<Record<string, string>> = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
};
/** The smallest Node that is supported, as package.json says. */
const oldestNode = [20, 19] as const;
const { ok, warn, fail, absent } = findingsOf('Machine');

export function judgeMachine(facts: MachineFacts): DoctorFinding[] {
  return [
    judgeNode(facts.nodeVersion),
    ...facts.tools.map(judgeTool),
    judgeNamespaces(facts),
    facts.hasSeccomp
      ? ok('seccomp', 'the kernel filters system calls')
      : fail('seccomp', 'the kernel does not filter system calls', 'use a kernel with CONFIG_SECCOMP_FILTER'),
    facts.hasIpv6
      ? ok('ipv6', 'on; it goes to the door, as IPv4 does')
      : ok('ipv6', 'off on this machine: sandboxes have IPv4 only'),
    ...judgeDocker(facts.docker, facts.isRoot),
  ];
}

function judgeNode(version: string): DoctorFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  if (enough) return ok('node', version);
  return fail('node', `${version} is too old`, `install Node ${oldestNode.join('.')} or later`);
}

function judgeTool({ name, file, version }: ToolFacts): DoctorFinding {
  if (file !== null) return ok(name, version === null ? file : `${version} (${file})`);
  if (name === 'git') return warn(name, 'not installed: sandboxes have no git either', 'install git');
  if (name === 'bwrap')
    return warn(name, 'not installed: sandboxes are made without it (--launcher namespaces)', howToInstallBubblewrap());
  return fail(name, 'not installed', `install ${packages[name] ?? name}`);
}

function judgeNamespaces({ namespaces, settings, isRoot, isContainer }: MachineFacts): DoctorFinding {
  if (!namespaces.made) {
    const setting = (name: string): string | null => settings.get(name) ?? null;
    const { message, hint } = whyNoNamespaces(namespaces.said, { setting, isRoot, isContainer });
    return fail('namespaces', message, hint);
  }
  const limit = settings.get('user.max_user_namespaces');
  const whose = isRoot ? 'as root' : 'as an ordinary user';
  return ok('namespaces', `a test namespace was made ${whose}${limit ? `; at most ${limit} at a time` : ''}`);
}

function judgeDocker(docker: DockerFacts, isRoot: boolean): DoctorFinding[] {
  if (docker.state === 'absent') return [absent('docker', 'not installed: --image cannot be used')];
  if (docker.state === 'unreachable') return [warn('docker', docker.message, docker.hint)];
  const named = `${docker.version}, ${docker.system}`;
  if (docker.isElsewhere || /docker desktop/i.test(docker.system)) {
    const fix = 'for --image, use a daemon on this machine: the gateway cannot enter the network of a remote one';
    return [warn('docker', `${named}: its containers do not run on this machine`, fix)];
  }
  if (!isRoot && !docker.isRootless) {
    const fix = 'for --image run with sudo, or use rootless Docker';
    return [warn('docker', `${named}: you may use it, but not enter the network of its containers`, fix)];
  }
  return [ok('docker', `${named}; the network of its containers can be entered`)];
}
