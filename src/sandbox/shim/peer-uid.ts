// Which uid is at the other end of a loopback connection, by the kernel's own table. Proven or nothing: a port that
// changed hands while the table was read must never lend its new owner's uid to the old connection.
import { fstatSync } from 'node:fs';
import type { Socket } from 'node:net';
import { descriptorOf } from '../../kit/process/socket-option.ts';
import type { SocketRow, SocketTables, TableName } from './socket-table.ts';
import { tableForm } from './socket-table.ts';

// include/net/tcp_states.h
const established = 1;
const finWait1 = 4;
const finWait2 = 5;
const closeWait = 8;

/** A client that has sent all it will send still waits for its answer. One that only asks to connect owns nothing yet. */
const clientStates: readonly number[] = [established, finWait1, finWait2];
const ownStates: readonly number[] = [established, closeWait];

/**
 * The kernel gives the table out in pieces. Between two of them it may pass over a row, or give it twice, when others of the
 * same bucket come and go: what was not seen in one look is looked for again. Each look is a whole proof of its own.
 */
const looks = 3;

/** null: it could not be proven, and the connection is to be refused. */
export async function findPeerUid(socket: Socket, tables: Pick<SocketTables, 'read'>): Promise<number | null> {
  for (let look = 0; look < looks; look++) {
    const uid = await lookOnce(socket, tables);
    if (uid !== null) return uid;
  }
  return null;
}

async function lookOnce(socket: Socket, tables: Pick<SocketTables, 'read'>): Promise<number | null> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return null;
  const inode = inodeOf(socket);
  if (inode === null) return null;
  const ends = (table: TableName) => ({
    client: tableForm(remoteAddress, remotePort, table),
    own: tableForm(localAddress, localPort, table),
  });

  const ownTable: TableName = localAddress.includes(':') ? 'tcp6' : 'tcp';
  const isOwn = (row: SocketRow): boolean => {
    const { client, own } = ends(ownTable);
    return row.inode === inode && ownStates.includes(row.state) && row.local === own && row.remote === client;
  };

  for (const table of ownTable === 'tcp6' ? (['tcp6'] as const) : (['tcp', 'tcp6'] as const)) {
    const rows = await tables.read(table);
    const { client, own } = ends(table);
    // A socket without an inode has no owner any more, and the table then says uid 0.
    const found = rows.filter(
      (row) => row.local === client && row.remote === own && row.inode !== 0 && clientStates.includes(row.state),
    );
    const last = found.at(-1);
    if (last === undefined) continue;
    // The same socket twice is one; two sockets are a port that changed hands.
    if (found.some((row) => row.inode !== last.inode || row.uid !== last.uid)) return null;
    // Both ends of a connection have the same pair of addresses, and no other connection can have it while this one is
    // open. So if our end is still open when it is looked at *after* the client's row was read, that row was its other end.
    const after = rows.slice(rows.lastIndexOf(last) + 1);
    const stillOpen = (table === ownTable && after.some(isOwn)) || (await tables.read(ownTable)).some(isOwn);
    return stillOpen ? last.uid : null;
  }
  return null;
}

/** Node has no public way to the descriptor of a socket; the handle has carried it since Node 0.12. */
function inodeOf(socket: Socket): number | null {
  try {
    return fstatSync(descriptorOf(socket)).ino;
  } catch {
    return null;
  }
}
