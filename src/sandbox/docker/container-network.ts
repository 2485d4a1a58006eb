// The network namespace of a container that somebody else started with `--network none`: checks that it is that container's,
// that it has no other way out, and that it is not this machine's own. Changes nothing: whoever opens the door enters what was
// checked here, or nothing.
import { readFileSync } from 'node:fs';
import { processBirth } from '../../kit/process/process-birth.ts';
import { anotherWayOut, notAnotherNamespace } from '../namespace/door-faults.ts';
import { addedInterfaces, forbiddenNamespaces, readNamespace } from '../namespace/process-namespaces.ts';
import { LaunchError } from '../run/sandbox-plan.ts';

/** `net:[…]`. `containerId`: as Docker gave it. Throws a LaunchError. */
export function containerNetwork(pid: number, containerId: string): string {
  const born = processBirth(pid);
  const network = readNamespace(pid, 'net');
  if (forbiddenNamespaces().includes(network)) throw notAnotherNamespace(pid);
  const added = addedInterfaces(pid);
  if (added.length > 0) throw anotherWayOut(pid, added.join(', '));
  if (!isProcessOf(pid, containerId)) throw notOfTheContainer(pid, containerId);
  // All of the above was seen of one and the same process, also when its number has changed hands since.
  if (born === null || processBirth(pid) !== born) throw notOfTheContainer(pid, containerId);
  return network;
}

/**
 * Docker says which process is the container's as its own machine counts: here, that number may be anybody's. What the
 * container runtime wrote into the process tells: its control group, or the files it bound over /etc.
 */
function isProcessOf(pid: number, containerId: string): boolean {
  if (!/^[0-9a-f]{12,64}$/.test(containerId)) return false;
  // `/docker/ID`, `/docker-ID.scope`, `…/containers/ID/hostname`.
  const named = new RegExp(`[/-]${containerId}[0-9a-f]*(?:[/.\\s]|$)`, 'm');
  return ['cgroup', 'mountinfo'].some((file) => {
    try {
      return named.test(readFileSync(`/proc/${pid}/${file}`, 'latin1'));
    } catch {
      return false;
    }
  });
}

function notOfTheContainer(pid: number, containerId: string): LaunchError {
  return new LaunchError(
    `process ${pid} is not one of the container ${containerId.slice(0, 12)} on this machine`,
    'The container may have been restarted: register it again. The gateway must run on the machine whose Docker runs the ' +
      'container, and must see its process: it cannot be in a container itself, and Docker cannot be in a virtual machine.',
  );
}
