// The container that owns the namespaces of a sandbox and lives as long as its launcher does: it reads a pipe whose other
// end only the launcher has. Whatever ends the launcher closes the pipe; the holder ends, and as it is the first process of
// the pid namespace the kernel ends every process of the sandbox with it. Runs nothing of the image and sees nothing of ours.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { waitAtMost } from '../../kit/wait-at-most.ts';
import { LaunchError } from '../run/sandbox-plan.ts';
import { csv, imageName, limitsOf, withoutPrivileges } from './docker-arguments.ts';
import { type DockerCommand, explainDocker } from './docker-command.ts';
import { findHostProgram, type HostProgram } from './docker-host-program.ts';

export interface DockerHolderOptions {
  /** Its name, unlike any other's: also how its process is known again. */
  readonly name: string;
  readonly image: string;
  readonly labels: readonly string[];
  /** Not the sandbox's: what has another user's id and no capability can neither trace it nor look into it. */
  readonly uid: number;
}

export interface DockerHolder {
  readonly name: string;
  /** As this machine counts. */
  readonly pid: number;
  /** What the image sets for its programs, and what is withheld from the holder. */
  readonly imageEnvironment: Readonly<Record<string, string>>;
  hasEnded(): boolean;
  /** Ends every process in its namespaces; resolves when the container is gone. */
  end(): Promise<void>;
}

/** A container starts in a third of a second, and ends in a tenth once its pipe is closed. */
const startMs = 30_000;
const patienceMs = 3_000;

export async function startHolder(docker: DockerCommand, options: DockerHolderOptions): Promise<DockerHolder> {
  const [program, imageEnvironment] = await Promise.all([
    findHostProgram('cat'),
    imageVariables(docker, options.image),
  ]);
  const args = holderArguments(docker, options, program, Object.keys(imageEnvironment));
  const child = docker.spawn(args, ['pipe', 'pipe', 'pipe'], true);
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('the holder was started without pipes');
  let over = false;
  let said = '';
  let heard = '';
  stdout.on('data', (chunk: Buffer) => {
    heard += chunk;
  });
  stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-8192);
  });
  // Closed under us when the container ends first.
  stdin.on('error', () => {});
  const failed = new Promise<Error>((resolve) => child.on('error', resolve));
  const ended = Promise.race([once(child, 'close'), failed]).then(() => {
    over = true;
  });
  const end = async (): Promise<void> => {
    stdin.end();
    if ((await waitAtMost(ended, patienceMs, () => 'late')) !== 'late') return;
    await docker.run(['rm', '--force', '--', options.name]).catch(() => '');
    await ended;
  };
  // The holder echoes this line. When it comes back, the pipe that keeps the holder alive works.
  stdin.write(`${options.name}\n`);
  const answered = new Promise<'answered'>((resolve) => {
    stdout.on('data', () => heard.includes(options.name) && resolve('answered'));
  });
  try {
    const first = await waitAtMost(Promise.race([answered, failed, ended]), startMs, () => 'late' as const);
    if (first instanceof Error) throw explainDocker(said, first, docker.engine);
    if (first === 'late')
      throw new LaunchError(
        'the container did not start in time',
        docker.engine === 'docker' ? 'see the log of the Docker daemon' : 'check whether `podman run` works',
      );
    if (first !== 'answered') throw explainDocker(said, undefined, docker.engine);
    const pid = Number(await docker.run(['inspect', '--format', '{{.State.Pid}}', '--', options.name]));
    return { name: options.name, pid, imageEnvironment, hasEnded: () => over, end };
  } catch (error) {
    await end();
    throw error;
  }
}

const dockerNetwork = ['--network', 'none', '--dns', '127.0.0.1', '--dns-search', '.'];
/** Podman takes no resolver where it makes no network. */
const podmanNetwork = ['--network', 'none', '--no-hosts', ...file('/dev/null', '/etc/resolv.conf')];

function holderArguments(
  docker: Pick<DockerCommand, 'engine'>,
  options: DockerHolderOptions,
  program: HostProgram,
  variables: readonly string[],
): readonly string[] {
  const { files, command } = program.at(`/${options.name}`);
  const [entry, ...rest] = command;
  if (entry === undefined) throw new Error('the holder has no program');
  return [
    'run',
    ...['--rm', '--interactive', '--init', '--name', options.name, '--hostname', 'sallyport'],
    ...options.labels.flatMap((label) => ['--label', label]),
    ...withoutPrivileges,
    ...limitsOf(docker.engine),
    // The sandbox shares its network and its resolv.conf: no interface, and no word of the host's own resolvers.
    ...(docker.engine === 'podman' ? podmanNetwork : dockerNetwork),
    // Docker turns IPv6 off where it has given no address.
    ...(existsSync('/proc/sys/net/ipv6') ? ['--sysctl', 'net.ipv6.conf.all.disable_ipv6=0'] : []),
    ...['--user', `${options.uid}:${options.uid}`, '--read-only', '--workdir', '/'],
    // An image could have its own code loaded into the holder, and the holder outlive its launcher by it. Emptied, not only
    // named: docker would look up what the user has under that name.
    ...variables.filter((name) => name !== 'PATH').flatMap((name) => ['--env', `${name}=`]),
    ...file('/dev/null', '/etc/ld.so.preload'),
    ...files.flatMap(({ source, target }) => file(source, target)),
    ...['--entrypoint', entry, '--', imageName(options.image)],
    ...rest,
  ];
}

/** What the image sets. Also the first question to the daemon: it is there, and it has the image. */
async function imageVariables(docker: DockerCommand, image: string): Promise<Readonly<Record<string, string>>> {
  const answer = await docker.run(['image', 'inspect', '--format', '{{json .Config.Env}}', '--', imageName(image)]);
  const list: unknown = JSON.parse(answer);
  if (list === null) return {};
  if (!Array.isArray(list))
    throw new LaunchError(
      `docker does not say which variables ${image} sets: ${answer.trim()}`,
      'check the version of Docker: docker version',
    );
  const pairs = list.map((text) => /^([^=]+)=?(.*)$/s.exec(String(text)) ?? []);
  return Object.fromEntries(pairs.flatMap(([, name, value = '']) => (name === undefined ? [] : [[name, value]])));
}

function file(source: string, target: string): readonly string[] {
  return ['--mount', csv(['type=bind', `source=${source}`, `target=${target}`, 'readonly'])];
}
