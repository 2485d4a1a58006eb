// Binds every address in the network of a container that somebody else started with `--network none`: all of them become
// local to it, so that its door can be opened. Uses the programs of this machine, inside the container's network alone.
// Must never change a route of the machine itself: it enters the namespace that it checked, which it holds open meanwhile.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { processBirth } from '../../kit/process/process-birth.ts';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import { bindEveryAddress } from '../namespace/bind-addresses.ts';
import { anotherWayOut, enteringFault, notAnotherNamespace, unreadableNamespace } from '../namespace/door-faults.ts';
import { needTool } from '../namespace/find-tool.ts';
import { addedInterfaces, forbiddenNamespaces, needsUserNamespace } from '../namespace/process-namespaces.ts';
import { LaunchError } from '../run/sandbox-plan.ts';

const timeoutMs = 10_000;
const maxComplaintBytes = 4096;

/** `containerId`: as Docker gave it. May be done again. Rejects with a LaunchError. */
export async function bindContainerAddresses(pid: number, containerId: string): Promise<void> {
  const born = processBirth(pid);
  const network = openNamespace(pid, 'net');
  let user: number | null = null;
  try {
    if (forbiddenNamespaces().includes(readlinkSync(`/proc/self/fd/${network}`))) throw notAnotherNamespace(pid);
    const added = addedInterfaces(pid);
    if (added.length > 0) throw anotherWayOut(pid, added.join(', '));
    if (!isProcessOf(pid, containerId)) throw notOfTheContainer(pid, containerId);
    if (needsUserNamespace(pid)) user = openNamespace(pid, 'user');
    // All of the above was seen of one and the same process, also when its number has changed hands since.
    if (born === null || processBirth(pid) !== born) throw notOfTheContainer(pid, containerId);
    await runInside(pid, network, user);
  } finally {
    closeSync(network);
    if (user !== null) closeSync(user);
  }
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

async function runInside(pid: number, network: number, user: number | null): Promise<void> {
  const nsenter = needTool('nsenter', 'install util-linux, which every distribution has');
  const sh = needTool('sh', 'a POSIX shell is needed at /bin/sh');
  const ip = needTool('ip', 'install iproute2 (Debian, Ubuntu) or iproute (Fedora)');
  const entering = ['--net=/proc/self/fd/3', ...(user === null ? [] : ['--user=/proc/self/fd/4'])];
  if (user !== null) entering.push('--preserve-credentials');
  // By paths of this machine and with an empty environment: nothing of the container has a say in what runs.
  const child = spawn(nsenter, [...entering, '--', sh, '-c', bindEveryAddress(quoteForShell(ip))], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', network, ...(user === null ? [] : [user])],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < maxComplaintBytes) complaint += text;
  });
  const [code] = await once(child, 'close');
  if (code === 0) return;
  if (/^nsenter: /m.test(complaint)) throw enteringFault(pid, complaint);
  throw new LaunchError(
    `the routes in the network of process ${pid} could not be set: ${complaint.trim() || 'no answer in time'}`,
    'Try `nsenter --target PID --net ip route` by hand, and check that iproute2 is up to date.',
  );
}

function openNamespace(pid: number, kind: 'net' | 'user'): number {
  try {
    return openSync(`/proc/${pid}/ns/${kind}`, 'r');
  } catch (error) {
    throw unreadableNamespace(pid, error);
  }
}

function notOfTheContainer(pid: number, containerId: string): LaunchError {
  return new LaunchError(
    `process ${pid} is not one of the container ${containerId.slice(0, 12)} on this machine`,
    'The container may have been restarted: register it again. The gateway must run on the machine whose Docker runs the ' +
      'container, and must see its process: it cannot be in a container itself, and Docker cannot be in a virtual machine.',
  );
}
