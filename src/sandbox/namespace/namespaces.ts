// The launcher where bubblewrap is not installed: the same walls, made of what every Linux has. util-linux makes the namespaces, a
// short-lived Node the mounts (root-maker.ts), and the kernel holds both. It never starts a command when one of them cannot
// be had.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, normalize } from 'node:path';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { sealMounts } from '../files/seal-mounts.ts';
import { verifyMounts } from '../files/verify-mounts.ts';
import { execInNamespace } from '../hands/exec-in-namespace.ts';
import { readOnlyKernelPaths } from '../run/root-precautions.ts';
import { runningIn } from '../run/running-sandbox.ts';
import { LaunchError, type Launcher, type Mount } from '../run/sandbox-plan.ts';
import { sandboxUser } from '../run/sandbox-user.ts';
import { findTool, needTool } from './find-tool.ts';
import { commandErrors, firstInput, holdNamespace, mountedMark, release, secondInput } from './namespace-holder.ts';
import { goOnAsCommand, plainUnshareEnvironment, type UnshareTools } from './plain-unshare-script.ts';
import { firstChildOf } from './process-tree.ts';
import { type RootOrder, type RootStep, rootMakerSource } from './root-maker.ts';
import { seccompProgram } from './seccomp.ts';

const koffi = createRequire(import.meta.url).resolve('koffi');

export function createNamespacesLauncher(find = findSystemTool, node = process.execPath): Launcher {
  const tools = findTools(find);
  const filter = seccompProgram(process.arch).toString('base64');
  const maker = [node, '-e', rootMakerSource(secondInput)];
  return {
    name: 'namespaces',
    notice: [],
    async prepare(stdio) {
      const holder = await holdNamespace({ stdio, own: ['--mount', '--ipc', '--uts', ...cgroup()] });
      return {
        pid: holder.pid,
        async start(plan) {
          const order: RootOrder = {
            koffi,
            hostname: 'sallyport',
            steps: rootSteps(plan.mounts, readOnlyKernelPaths()),
            filter,
            becomes: [tools.sh, '-c', goOnAsCommand(plan, sandboxUser(), tools)],
            keep: [0, 1, 2, firstInput, release, commandErrors],
          };
          const seals = sealMounts(plan.mounts, 'fresh', plan.seals);
          const verify = async (): Promise<void> => {
            const init = (await holder.said(mountedMark)) ? holder.initPid() : null;
            if (init !== null) await verifyMounts(init, seals);
          };
          await holder.run(`exec ${maker.map(quoteForShell).join(' ')}`, {
            first: plainUnshareEnvironment(plan, tools.env),
            second: Buffer.from(JSON.stringify(order)),
            verify,
          });
          return runningIn(holder, stdio, {
            findCommand: () => {
              const init = holder.initPid();
              return init === null ? null : firstChildOf(init);
            },
            exec: execInNamespace(holder, plan, () => holder.initPid()),
          });
        },
        async discard() {
          holder.kill();
          await holder.ended;
        },
      };
    },
  };
}

/** A kernel may have none. */
function cgroup(): string[] {
  return existsSync('/proc/self/ns/cgroup') ? ['--cgroup'] : [];
}

/** One in the user's PATH may lie where the sandbox does not see it. */
function findSystemTool(name: string): string | null {
  return findTool(name, '');
}

function findTools(find: typeof findSystemTool): Pick<UnshareTools, 'sh' | 'env' | 'cat' | 'unshare' | 'setpriv'> {
  const utilLinux = 'install util-linux, which every distribution has';
  return {
    sh: needTool('sh', 'a POSIX shell is needed at /bin/sh', find),
    env: needTool('env', 'install coreutils', find),
    cat: needTool('cat', 'install coreutils', find),
    unshare: needTool('unshare', utilLinux, find),
    setpriv: needTool('setpriv', utilLinux, find),
  };
}

const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/** The mounts of a plan, and what every sandbox has beside them. Pure. */
export function rootSteps(mounts: readonly Mount[], readOnlyKernelPaths: readonly string[]): readonly RootStep[] {
  return [
    ...mounts.map(stepFor),
    // After the mounts: nothing of the plan can lie over them.
    { make: 'proc', target: '/proc' },
    ...readOnlyKernelPaths.map((path): RootStep => {
      return { make: 'bind', source: path, target: path, readOnly: true, devices: false, own: true };
    }),
    { make: 'tmpfs', target: '/dev', readOnly: false },
    // Read-only: they work, but their owner and mode cannot be changed.
    ...devices.map((name): RootStep => {
      return { make: 'bind', source: `/dev/${name}`, target: `/dev/${name}`, readOnly: true, devices: true };
    }),
    { make: 'terminals', target: '/dev/pts' },
    { make: 'link', target: '/dev/ptmx', to: 'pts/ptmx' },
    { make: 'folder', target: '/dev/shm' },
    { make: 'link', target: '/dev/fd', to: '/proc/self/fd' },
    { make: 'link', target: '/dev/core', to: '/proc/kcore' },
    ...['stdin', 'stdout', 'stderr'].map((name, fd): RootStep => {
      return { make: 'link', target: `/dev/${name}`, to: `/proc/self/fd/${fd}` };
    }),
  ];
}

function stepFor(mount: Mount): RootStep {
  const { target } = mount;
  if (!isAbsolute(target)) throw new Error(`${JSON.stringify(target)} is not an absolute path`);
  if (/^\/(proc|dev|sys)(\/|$)/.test(normalize(target)))
    throw new LaunchError(`nothing can be mounted at ${target}`, 'choose a target outside of /proc, /dev and /sys');
  switch (mount.kind) {
    case 'read-only':
    case 'read-write':
      return {
        make: 'bind',
        source: mount.source,
        target,
        readOnly: mount.kind === 'read-only',
        devices: false,
      };
    case 'empty':
      return { make: 'tmpfs', target, readOnly: false };
    case 'link':
      return { make: 'link', target, to: mount.to };
    case 'masked-file':
      // Reads as empty, and what is written to it is nowhere. As a device, since without it nothing could open it.
      return { make: 'bind', source: '/dev/null', target, readOnly: true, devices: true };
    case 'masked-folder':
      return { make: 'tmpfs', target, readOnly: true };
  }
}
