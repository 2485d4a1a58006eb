// Runs a container of a Kubernetes manifest without Kubernetes: its command, its user and its mounts, as the manifest says,
// by bubblewrap, in the network namespace of a pretend pod. What a cluster adds (cgroups, seccomp, images) is not here.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Container, Manifest, PodSpec } from './kubernetes-manifests.ts';
import { asUser } from './namespace.ts';
import { type ClientRun, runClient } from './run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface PodHost {
  /** Where the volumes are, one folder each. */
  readonly folder: string;
  /** A built package, at /opt/sallyport as in the image. */
  readonly built: string;
  /** What to put in front of a command so that it runs in the network of the pod. */
  readonly enter: readonly string[];
}

/** As the kubelet lays them out: all of root, and emptyDirs open to everybody. */
export function layVolumes(
  { folder }: PodHost,
  pod: PodSpec,
  manifests: readonly Manifest[],
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
): void {
  for (const { name, configMap, secret } of pod.volumes) {
    const place = join(folder, name);
    mkdirSync(place);
    chmodSync(place, 0o777);
    const from = (configMap as { name?: string } | undefined)?.name;
    const data =
      from === undefined
        ? secrets[(secret as { secretName?: string } | undefined)?.secretName ?? '']
        : manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === from)?.data;
    if (data === undefined) continue;
    // Each file is a link into a folder that is exchanged as a whole.
    mkdirSync(join(place, '..2026'));
    symlinkSync('..2026', join(place, '..data'));
    for (const [file, text] of Object.entries(data)) {
      writeFileSync(join(place, '..2026', file), text, { mode: 0o644 });
      symlinkSync(join('..data', file), join(place, file));
    }
  }
}

export function runContainer(host: PodHost, container: Container, command?: readonly string[]): Promise<ClientRun> {
  const [program, ...args] = wordsOf(host, container, command ?? commandOf(container));
  return runClient(program!, args, { env: environment });
}

export function startContainer(host: PodHost, container: Container): ChildProcess {
  const [program, ...args] = wordsOf(host, container, commandOf(container));
  return spawn(program!, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** What docker/gateway.Dockerfile sets. */
const environment = {
  PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/var/lib/sallyport',
  SALLYPORT_HOME: '/var/lib/sallyport',
};

function commandOf({ command = ['sallyport'], args = [] }: Container): string[] {
  return [...command, ...args];
}

function wordsOf({ folder, built, enter }: PodHost, container: Container, command: readonly string[]): string[] {
  const system = ['/bin', '/lib', '/lib64', '/sbin'].flatMap((path) => ['--ro-bind-try', path, path]);
  // As docker/gateway.Dockerfile lays it out; modules may be a link in a clone.
  const image: readonly (readonly [from: string, to: string])[] = [
    [join(built, 'dist'), '/opt/sallyport/dist'],
    ...['config', 'dashboard', 'package.json'].map((name) => [join(root, name), `/opt/sallyport/${name}`] as const),
    [realpathSync(join(root, 'node_modules')), '/opt/sallyport/node_modules'],
    ...['sallyport', 'healthcheck'].map((name) => [join(root, 'docker', name), `/usr/local/bin/${name}`] as const),
    [process.execPath, '/usr/local/bin/node'],
  ];
  // By itself bubblewrap makes what lies above a mount for root alone.
  const places = [...image.map(([, to]) => to), ...(container.volumeMounts ?? []).map(({ mountPath }) => mountPath)];
  const above = [...new Set(places.flatMap(foldersAbove))].filter((path) => !path.startsWith('/usr')).sort();
  const fixed = [
    ...above.flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...['--ro-bind', '/usr', '/usr', ...system, '--proc', '/proc', '--dev', '/dev', '--chdir', '/'],
    ...['--tmpfs', '/usr/local/bin', ...image.flatMap(([from, to]) => ['--ro-bind', from, to])],
  ];
  const mounts = (container.volumeMounts ?? []).flatMap(({ name, mountPath, subPath = '', readOnly = false }) => {
    return [readOnly ? '--ro-bind' : '--bind', join(folder, name, subPath), mountPath];
  });
  const uid = container.securityContext?.runAsUser ?? 0;
  const user = [...asUser(uid), '--bounding-set=-all', '--no-new-privs'];
  // Whoever takes another uid forgets whose death ends it: the process namespace ends with its first process, with all in it.
  const alone = ['bwrap', '--die-with-parent', '--unshare-pid'];
  return [...enter, ...alone, ...fixed, ...mounts, '--remount-ro', '/', '--', ...user, ...command];
}

function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === '/' || above === '.' ? [] : [...foldersAbove(above), above];
}
