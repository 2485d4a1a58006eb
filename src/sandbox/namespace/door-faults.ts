// Why the door of a sandbox could not be opened, in words for the person who started it, with what to do about it.

import { LaunchError } from '../run/sandbox-plan.ts';
import type { DoorChildMessage } from './door-child.ts';

export function notAnotherNamespace(pid: number): LaunchError {
  return new LaunchError(
    `process ${pid} has no network namespace of its own: it shares the network of this machine`,
    'A sandbox needs a network of its own (`unshare -n`, `docker run --network none`): its door is never opened on the host.',
  );
}

export function unreadableNamespace(pid: number, cause: unknown): LaunchError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'ENOENT') {
    return new LaunchError(
      `there is no process ${pid}`,
      'The sandbox may have ended already: start it again. A gateway that is itself in a container does not see the processes of others: there, give the sandbox a network.',
      {
        cause,
      },
    );
  }
  return new LaunchError(
    `this user may not look at the namespaces of process ${pid}`,
    'Start the gateway as the user who owns the sandbox, or as root.',
    { cause },
  );
}

export function noNsenter(): LaunchError {
  return new LaunchError(
    'the program nsenter is not installed; the gateway needs it to open a door in a sandbox',
    'Install util-linux (Debian, Fedora and Arch have it from the start; on Alpine: apk add util-linux).',
  );
}

export function anotherWayOut(pid: number, interfaces: string): LaunchError {
  return new LaunchError(
    `the network of process ${pid} has another way out than the door (${interfaces})`,
    'A sandbox may have only `lo`: with Docker use `--network none`.',
  );
}

/** nsenter ended before the child could say anything. */
export function enteringFault(pid: number, complaint: string): LaunchError {
  const cause = new Error(complaint.trim() || 'the child ended without a message');
  if (/not permitted|denied/i.test(complaint)) {
    return new LaunchError(
      `this user may not enter the network of process ${pid}`,
      'Start the gateway as the user who owns the sandbox, or as root.',
      { cause },
    );
  }
  return new LaunchError(
    `the door in the network of process ${pid} could not be opened: ${cause.message.split('\n', 1)[0]}`,
    'Check whether the process still runs, and whether `nsenter --target PID --net true` works by hand.',
    { cause },
  );
}

export function childFault(
  { code, text }: Extract<DoorChildMessage, { readonly kind: 'failed' }>,
  pid: number,
): LaunchError {
  const cause = new Error(text);
  switch (code) {
    case 'own-namespace':
      return notAnotherNamespace(pid);
    case 'other-namespace':
      return new LaunchError(
        `process ${pid} changed its network while the door was being opened`,
        'The sandbox may have ended and its process id gone to another: start it again.',
        { cause },
      );
    case 'other-interface':
      return anotherWayOut(pid, text);
    case 'EADDRINUSE':
      return new LaunchError(
        `a port of the door is taken in the network of process ${pid} (${text})`,
        'Something listens there already. If the sandbox is not registered yet, it is a program of its own: register the sandbox before that program starts.',
        { cause },
      );
    case 'EACCES':
      return new LaunchError(
        `this user may not open the ports of the door in the network of process ${pid} (${text})`,
        'The user namespace of the sandbox must map this user to root (`unshare --map-root-user`).',
        { cause },
      );
    default:
      return new LaunchError(
        `the door in the network of process ${pid} could not be opened: ${text}`,
        'This error is not a known one: the message says what the system reported.',
        { cause },
      );
  }
}
