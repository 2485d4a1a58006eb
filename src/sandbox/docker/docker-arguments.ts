// The arguments of `docker create` for a plan. Pure, except that it reads the mounts of the host. Drops every privilege by
// name; nothing that a user or a plan says can become a flag of docker.
import { posix } from 'node:path';
import { LaunchError, type Mount, type SandboxPlan } from '../run/sandbox-plan.ts';
import { type Engine, proxyVariables } from './docker-command.ts';

export interface CreateOptions {
  readonly name: string;
  readonly holder: string;
  readonly image: string;
  readonly engine?: Engine;
  readonly labels: readonly string[];
  readonly user: string;
  /** The command gets a terminal of its own. */
  readonly terminal: boolean;
  readonly seccompFile: string;
  /** Where the host has something mounted: what lies in a read-only folder must be read-only too. */
  readonly mountPoints: readonly string[];
}

/** What every container of ours goes without. */
export const withoutPrivileges: readonly string[] = [
  ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  // Nothing is fetched behind the user's back.
  ...['--pull', 'never'],
  // What the command writes is not kept by the daemon; the image's health check is not asked for.
  ...['--log-driver', 'none', '--no-healthcheck'],
];

/** Podman would raise the limits of whoever starts it, which not everybody may. */
export const limitsOf = (engine: Engine): readonly string[] => (engine === 'podman' ? ['--ulimit', 'host'] : []);

export function dockerCreateArguments(plan: SandboxPlan, options: CreateOptions): readonly string[] {
  const [program, ...rest] = plan.command;
  if (program === undefined || program === '')
    throw new LaunchError('there is no command to run', 'sallyport run -- CMD');
  return [
    'create',
    ...['--rm', '--interactive', `--tty=${options.terminal}`, '--name', options.name],
    ...options.labels.flatMap((label) => ['--label', label]),
    ...['--network', `container:${options.holder}`, '--pid', `container:${options.holder}`],
    ...withoutPrivileges,
    ...limitArguments(plan.limits),
    ...limitsOf(options.engine ?? 'docker'),
    ...['--security-opt', `seccomp=${options.seccompFile}`],
    ...['--user', options.user, '--workdir', plan.workingDirectory],
    ...environmentArguments(plan.environment),
    ...dockerMounts(plan.mounts, options.mountPoints).flatMap(mountArguments),
    ...['--entrypoint', program, '--', imageName(options.image)],
    ...rest,
  ];
}

/** No swap beside the memory: it belongs to all. */
function limitArguments(limits: SandboxPlan['limits']): readonly string[] {
  const { memory, cpus, pids } = limits ?? {};
  return [
    ...(memory === undefined ? [] : ['--memory', String(memory), '--memory-swap', String(memory)]),
    ...(cpus === undefined ? [] : ['--cpus', String(cpus)]),
    ...(pids === undefined ? [] : ['--pids-limit', String(pids)]),
  ];
}

/** What the image itself sets stays beneath it; what docker would add from its own configuration does not. */
export function environmentArguments(environment: Readonly<Record<string, string>>): readonly string[] {
  const given = Object.entries(environment).map(([name, value]) => {
    if (name === '' || name.includes('=') || name.includes('\0') || value.includes('\0'))
      throw new LaunchError(`${JSON.stringify(name)} cannot be set in an environment`, 'check --env');
    return `${name}=${value}`;
  });
  return [...given, ...proxyVariables.filter((name) => !(name in environment))].flatMap((text) => ['--env', text]);
}

/** A name, not an option: what docker accepts as a reference begins with a letter or a digit. */
export function imageName(image: string): string {
  if (/^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$/.test(image)) return image;
  throw new LaunchError(
    `${JSON.stringify(image)} is not the name of an image`,
    '--image takes a name such as node:22 or an image id',
  );
}

/** Every mount that docker is told of. It orders them by depth and takes no target twice: what a later one covers is left out. */
export function dockerMounts(mounts: readonly Mount[], mountPoints: readonly string[]): readonly Mount[] {
  const all = mounts.flatMap((mount): readonly Mount[] => {
    if (mount.kind !== 'read-only') return [mount];
    // Docker before 25 makes only the top of it read-only and leaves what is mounted inside as it is.
    const inside = mountPoints.filter((point) => point !== mount.source && lies(point, mount.source));
    const targetOf = (point: string) => posix.join(mount.target, posix.relative(mount.source, point));
    return [mount, ...inside.map((point) => ({ ...mount, source: point, target: targetOf(point) }))];
  });
  return all.filter((mount, at) => !all.slice(at + 1).some((later) => lies(mount.target, later.target)));
}

/** `path` is `folder` or lies in it. */
export function lies(path: string, folder: string): boolean {
  const from = posix.normalize(`${folder}/`);
  return posix.normalize(`${path}/`).startsWith(from);
}

function mountArguments(mount: Mount): readonly string[] {
  switch (mount.kind) {
    case 'read-write':
      return bind(mount.source, mount.target, false);
    case 'read-only':
      return bind(mount.source, mount.target, true);
    case 'masked-file':
      return bind('/dev/null', mount.target, true);
    case 'masked-folder':
      return ['--mount', csv(['type=tmpfs', `target=${mount.target}`, 'tmpfs-mode=0555', 'readonly'])];
    case 'empty':
      // --mount cannot say `exec`, and programs are built and run in /tmp.
      if (mount.target.includes(':'))
        throw new LaunchError(
          `docker cannot make a folder with a colon in its name: ${mount.target}`,
          'use another path',
        );
      return ['--tmpfs', `${mount.target}:rw,exec,nosuid,nodev,mode=1777`];
    case 'link':
      throw new LaunchError(
        `docker cannot make a link in an image: ${mount.target} -> ${mount.to}`,
        'build the link into the image, or mount what it points to',
      );
  }
}

/** Not -v: it would make a missing source on the host, and reads a colon in a path as its own. */
function bind(source: string, target: string, readOnly: boolean): readonly string[] {
  return ['--mount', csv(['type=bind', `source=${source}`, `target=${target}`, ...(readOnly ? ['readonly'] : [])])];
}

/** docker reads the value of --mount as one line of CSV. */
export function csv(fields: readonly string[]): string {
  return fields.map((field) => (/[",\n\r]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');
}
