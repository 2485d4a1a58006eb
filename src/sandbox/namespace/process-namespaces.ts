// What can be seen of a process's network from outside: which namespace it is, whether we may ever act in it, and which
// interfaces it has. Only looks; changes nothing.
import { readFileSync, readlinkSync } from 'node:fs';
import { unreadableNamespace } from './door-faults.ts';

/** What the kernel itself puts into every namespace: no way in or out. Source of a regular expression over names. */
export const kernelMadeInterface = '^(?:lo|tunl0|sit0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|ip6tnl0|ip6gre0)$';

/** `net:[…]`. Throws a LaunchError. */
export function readNamespace(pid: number, kind: 'net' | 'user'): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch (error) {
    throw unreadableNamespace(pid, error);
  }
}

/** The gateway's own network, and that of the machine's first process where it can be seen and is another one. */
export function forbiddenNamespaces(): string[] {
  const own = readlinkSync('/proc/self/ns/net');
  try {
    return [...new Set([own, readlinkSync('/proc/1/ns/net')])];
  } catch {
    return [own];
  }
}

/** Root is above every user namespace and stays outside; anybody else must be who owns it to have a say over its network. */
export function needsUserNamespace(pid: number): boolean {
  return process.geteuid?.() !== 0 && readNamespace(pid, 'user') !== readlinkSync('/proc/self/ns/user');
}

/** Interfaces that somebody has put into the network of the process. Throws when there is no such process. */
export function addedInterfaces(pid: number): string[] {
  const kernelMade = new RegExp(kernelMadeInterface);
  const [, , ...lines] = readFileSync(`/proc/${pid}/net/dev`, 'latin1').split('\n');
  const added = lines.filter((line) => {
    const { name, counters } = readDeviceLine(line);
    // Anybody may give such a name to a cable that leads elsewhere. The kernel's own are down, and have never carried a byte.
    const isIdle = name === 'lo' || /^[0\s]*$/.test(counters);
    return name !== '' && !(kernelMade.test(name) && isIdle);
  });
  return added.map((line) => readDeviceLine(line).name);
}

function readDeviceLine(line: string): { readonly name: string; readonly counters: string } {
  const colon = line.indexOf(':');
  return { name: line.slice(0, Math.max(colon, 0)).trim(), counters: line.slice(colon + 1) };
}
