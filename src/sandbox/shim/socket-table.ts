// The kernel's table of TCP sockets, /proc/net/tcp and tcp6: whose they are. Rows come back in the order in which they
// were read. Reads only; of the network namespace that this process is in.
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';

export type TableName = 'tcp' | 'tcp6';

export interface SocketRow {
  /** Address and port as the table writes them. */
  readonly local: string;
  readonly remote: string;
  /** include/net/tcp_states.h */
  readonly state: number;
  readonly uid: number;
  /** 0: no process has it (any more). */
  readonly inode: number;
}

/** Reads of one table that are asked for while it is being read share the next read: each began after it was asked. */
export class SocketTables {
  readonly #running = new Map<TableName, Promise<readonly SocketRow[]>>();
  readonly #next = new Map<TableName, Promise<readonly SocketRow[]>>();

  read(name: TableName): Promise<readonly SocketRow[]> {
    const running = this.#running.get(name);
    if (running === undefined) return this.#begin(name);
    let next = this.#next.get(name);
    if (next === undefined) {
      const begin = (): Promise<readonly SocketRow[]> => {
        this.#next.delete(name);
        return this.#begin(name);
      };
      next = running.then(begin, begin);
      this.#next.set(name, next);
    }
    return next;
  }

  #begin(name: TableName): Promise<readonly SocketRow[]> {
    const read = readFile(`/proc/self/net/${name}`, 'latin1').then(parseSocketTable);
    this.#running.set(name, read);
    const done = (): void => {
      if (this.#running.get(name) === read) this.#running.delete(name);
    };
    read.then(done, done);
    return read;
  }
}

export function parseSocketTable(text: string): readonly SocketRow[] {
  const rows: SocketRow[] = [];
  for (const line of text.split('\n').slice(1)) {
    // sl local remote st tx:rx tr:when retrnsmt uid timeout inode …
    const words = line.trim().split(/\s+/);
    if (words.length < 10) continue;
    const [, local, remote, state, , , , uid, , inode] = words;
    rows.push({
      local: local!,
      remote: remote!,
      state: Number.parseInt(state!, 16),
      uid: Number(uid),
      inode: Number(inode),
    });
  }
  return rows;
}

/** An address and a port as the table writes them: words of the machine's own byte order, in hexadecimal. */
export function tableForm(address: string, port: number, table: TableName): string {
  const bytes = isIPv6(address) ? ipv6Bytes(address) : mapped(address, table);
  let words = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const word = endianness() === 'LE' ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    words += word.toString(16).padStart(8, '0');
  }
  return `${words}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** A client may call an IPv4 address from an IPv6 socket: it is then written as ::ffff:a.b.c.d. */
function mapped(address: string, table: TableName): Buffer {
  const bytes = Buffer.from(address.split('.').map(Number));
  return table === 'tcp' ? bytes : Buffer.concat([Buffer.from('00000000000000000000ffff', 'hex'), bytes]);
}

/** The only IPv6 address the shim listens on, and so the only one that is called from. */
function ipv6Bytes(address: string): Buffer {
  if (address !== '::1') throw new Error(`${address} is not the loopback address`);
  return Buffer.from('00000000000000000000000000000001', 'hex');
}
