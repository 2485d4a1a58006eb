// When this machine does not let the caller make namespaces: which of its settings stands in the way, and how it is
// changed. It never changes one itself.
import { existsSync, readFileSync } from 'node:fs';
import { LaunchError } from '../run/sandbox-plan.ts';

/** The error for what unshare, or a set-up inside the namespaces, said when it failed. */
export function whyNoNamespaces(said: string, readSetting = readKernelSetting): LaunchError {
  const message = `the network namespace of the sandbox could not be made: ${said.trim() || 'the kernel did not say why'}`;
  return new LaunchError(message, hintFor(readSetting));
}

function hintFor(readSetting: (name: string) => string | null): string {
  if (readSetting('user.max_user_namespaces') === '0')
    return 'user namespaces are off on this machine: sudo sysctl -w user.max_user_namespaces=15000';
  if (readSetting('kernel.unprivileged_userns_clone') === '0')
    return 'user namespaces are for root alone on this machine: sudo sysctl -w kernel.unprivileged_userns_clone=1';
  if (readSetting('kernel.apparmor_restrict_unprivileged_userns') === '1')
    return (
      'AppArmor keeps ordinary users from using namespaces on this machine: sudo sysctl -w ' +
      'kernel.apparmor_restrict_unprivileged_userns=0, or a profile that allows `userns` to /usr/bin/unshare'
    );
  if (existsSync('/.dockerenv') || existsSync('/run/.containerenv'))
    return 'this is a container, and its system call filter forbids namespaces: start it with --security-opt seccomp=unconfined';
  return 'user and network namespaces must be allowed: see `sysctl -a | grep -E "userns|user_namespaces"`';
}

function readKernelSetting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}
