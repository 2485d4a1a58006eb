// When this machine does not let the caller make namespaces: which of its settings stands in the way, and the command that
// changes it. It never changes one itself. scripts/prepare.sh says the same before it installs anything.
import { existsSync, readFileSync } from 'node:fs';
import { LaunchError } from '../run/sandbox-plan.ts';

export interface AskedMachine {
  /** By name, as sysctl has it; null: this kernel has no such setting. */
  readonly setting: (name: string) => string | null;
  readonly isRoot: boolean;
  readonly isContainer: boolean;
}

/** The error for what unshare, or a set-up inside the namespaces, said when it failed. */
export function whyNoNamespaces(said: string, asked: AskedMachine = thisMachine()): LaunchError {
  const { reason, fix } = reasonFor(said.trim(), asked);
  return new LaunchError(`this machine does not let you make a sandbox: ${reason}`, fix);
}

function reasonFor(said: string, { setting, isRoot, isContainer }: AskedMachine): { reason: string; fix: string } {
  const sudo = isRoot ? '' : 'sudo ';
  // A container has the settings of its host, and cannot change them.
  const where = isContainer ? 'on the host of this container: ' : '';
  const change = (name: string, value: number): string =>
    `${where}${sudo}sysctl -w ${name}=${value} (to keep it: echo ${name}=${value} | ${sudo}tee /etc/sysctl.d/60-sallyport.conf)`;
  if (setting('user.max_user_namespaces') === '0')
    return {
      reason: 'user namespaces are off (user.max_user_namespaces is 0)',
      fix: change('user.max_user_namespaces', 15000),
    };
  if (!isRoot && setting('kernel.unprivileged_userns_clone') === '0')
    return {
      reason: 'user namespaces are for root alone (kernel.unprivileged_userns_clone is 0)',
      fix: change('kernel.unprivileged_userns_clone', 1),
    };
  if (!isRoot && setting('kernel.apparmor_restrict_unprivileged_userns') === '1')
    return {
      reason: 'AppArmor keeps ordinary users from it (kernel.apparmor_restrict_unprivileged_userns is 1)',
      fix: change('kernel.apparmor_restrict_unprivileged_userns', 0),
    };
  // What the kernel calls "No space left on device" has nothing to do with a disk.
  if (/No space left on device|ENOSPC/.test(said))
    return {
      reason:
        'it makes no more namespaces: those of other sandboxes, containers or browsers use them up, or they are nested too deep',
      fix: `end some of them, or raise the limits: ${where}${sudo}sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000`,
    };
  if (/Resource temporarily unavailable|EAGAIN|Cannot allocate memory|ENOMEM/.test(said))
    return {
      reason: 'it lets you start no more processes, or has no memory for them',
      fix: 'end some, or raise the limit: ulimit -u, and the limits of processes and memory of the container or service you are in',
    };
  if (isContainer)
    return {
      reason: 'it is a container, and the way it was started forbids namespaces in it',
      fix:
        'start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, ' +
        'or run Sallyport outside of it: sallyport run --image IMAGE',
    };
  if (/Invalid argument|EINVAL|Function not implemented|ENOSYS/.test(said))
    return {
      reason: 'its kernel has no user namespaces (CONFIG_USER_NS), or none inside of this one',
      fix: 'start another kernel, or let Docker make the sandbox: sallyport run --image IMAGE',
    };
  return {
    reason: said === '' ? 'the kernel did not say why' : said,
    fix: 'user, network, process and mount namespaces must be allowed: see sysctl -a | grep -E "userns|_namespaces"',
  };
}

function thisMachine(): AskedMachine {
  return {
    setting: readKernelSetting,
    isRoot: process.geteuid?.() === 0,
    isContainer: isContainer(),
  };
}

/** Of Docker, Podman and Kubernetes. */
const containerMarks = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

export function isContainer(): boolean {
  return containerMarks.some((mark) => existsSync(mark));
}

function readKernelSetting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}
