// Which TCP sockets listen in a network, as the kernel tells it in /proc, and which processes hold them. Only looks; a process of
// another user shows nothing of what it holds.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { canonicalAddress } from '../canonical-address.ts';

export interface TcpListener {
  /** `0.0.0.0`, `127.0.0.1`, `::` or `::1`, as sockets report it. */
  readonly address: string;
  readonly port: number;
  /** Of the socket. */
  readonly inode: string;
}

const listening = '0A';

/** In the network of this process; none where it cannot be looked at. */
export function tcpListeners(pid: number | 'self' = 'self'): TcpListener[] {
  return ['tcp', 'tcp6'].flatMap((table) => readTable(`/proc/${pid}/net/${table}`));
}

/** Processes that hold one of these sockets, as far as they show it. */
export function holdersOf(inodes: ReadonlySet<string>): number[] {
  const targets = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  return processes().filter((pid) => descriptors(pid).some((target) => targets.has(target)));
}

/** Every process that can be seen. */
export function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function descriptors(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return namesIn(folder).map((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`);
    } catch {
      return '';
    }
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readTable(path: string): TcpListener[] {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state !== listening || local === undefined || inode === undefined) return [];
    const [address = '', port = ''] = local.split(':');
    return [{ address: readAddress(address), port: Number.parseInt(port, 16), inode }];
  });
}

/** Words of 32 bits, each as this machine keeps it: the lowest byte first, on all that Node runs on. */
function readAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.subarray(at, at + 4).reverse();
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16));
  return canonicalAddress(groups.join(':')) ?? groups.join(':');
}
