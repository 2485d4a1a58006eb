// Which uid is at the other end of a connection, as the kernel tells it. Needs root, to connect as others.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPeerUid } from '../../src/sandbox/shim/peer-uid.ts';
import { type SocketRow, SocketTables, type TableName, tableForm } from '../../src/sandbox/shim/socket-table.ts';
import { Dialer } from '../support/dialer.ts';

let dialer: Dialer;
const servers: Server[] = [];
const accepted: Socket[] = [];

beforeAll(() => {
  dialer = new Dialer();
});
afterAll(async () => {
  await dialer.end();
  for (const socket of accepted) socket.destroy();
  for (const server of servers) server.close();
});

async function listen(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }).listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

async function take(server: Server): Promise<Socket> {
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => {});
  accepted.push(socket);
  return socket;
}

describe('the uid at the other end of a loopback connection', () => {
  test.each([
    ['an IPv4 socket', '127.0.0.1', '127.0.0.1'],
    ['another loopback address', '127.0.0.9', '127.0.0.9'],
    ['an IPv6 socket that calls an IPv4 address', '127.0.0.1', '::ffff:127.0.0.1'],
    ['an IPv6 socket', '::1', '::1'],
  ])('is found for %s', async (_what, host, calls) => {
    const { server, port } = await listen(host);
    for (const uid of [54_321, 54_323, 0]) {
      const [socket] = await Promise.all([take(server), dialer.connect(`${host} ${uid}`, uid, port, 0, calls)]);
      expect(await findPeerUid(socket, new SocketTables())).toBe(uid);
    }
  });

  test('is found for a client that has said all it will say', async () => {
    const { server, port } = await listen('127.0.0.1');
    const [socket] = await Promise.all([take(server), dialer.connect('half', 54_321, port)]);
    await dialer.send('half', 'a request');
    await dialer.halfClose('half');
    expect(await findPeerUid(socket, new SocketTables())).toBe(54_321);
  });

  test('is nobody once the client is gone, and never root by default', async () => {
    const { server, port } = await listen('127.0.0.1');
    for (const leave of ['close', 'reset'] as const) {
      const [socket] = await Promise.all([take(server), dialer.connect(leave, 54_321, port)]);
      await dialer.send(leave, 'a request');
      await dialer[leave](leave);
      expect(await findPeerUid(socket, new SocketTables())).toBeNull();
    }
  });

  test('is each its own among many at once', async () => {
    const { server, port } = await listen('127.0.0.1');
    const tables = new SocketTables();
    const found: (number | null)[] = [];
    const uids = Array.from({ length: 40 }, (_, at) => 54_400 + at);
    const all = new Promise<void>((resolve) => {
      server.on('connection', (socket) => {
        accepted.push(socket);
        void findPeerUid(socket, tables).then((uid) => {
          found.push(uid);
          if (found.length === uids.length) resolve();
        });
      });
    });
    for (const uid of uids) await dialer.connect(`many ${uid}`, uid, port);
    await all;
    expect(found.sort()).toEqual(uids);
  });

  /** As the kernel gives its table out under load: not every row once. */
  const firstLookAs = (change: (rows: readonly SocketRow[]) => readonly SocketRow[]) => {
    const tables = new SocketTables();
    let reads = 0;
    return {
      async read(table: TableName) {
        const rows = await tables.read(table);
        return reads++ === 0 ? change(rows) : rows;
      },
    };
  };

  test('is found where the kernel passes over a row of it, or gives one twice', async () => {
    const { server, port } = await listen('127.0.0.1');
    const [socket] = await Promise.all([take(server), dialer.connect('torn', 54_321, port)]);
    const there = tableForm('127.0.0.1', socket.remotePort!, 'tcp');
    const isClient = (row: SocketRow): boolean => row.local === there;
    const isOwn = (row: SocketRow): boolean => row.remote === there;
    for (const [what, tables] of Object.entries({
      passedOver: firstLookAs((rows) => rows.filter((row) => !isClient(row))),
      ownPassedOver: firstLookAs((rows) => rows.filter((row) => !isOwn(row))),
      twice: firstLookAs((rows) => [...rows.filter(isClient), ...rows]),
    })) {
      expect(await findPeerUid(socket, tables), what).toBe(54_321);
    }
    // Two sockets under one pair of addresses: the port changed hands in the middle, in every look.
    const two = async (table: TableName): Promise<readonly SocketRow[]> => {
      const rows = await new SocketTables().read(table);
      return [...rows.filter(isClient).map((row) => ({ ...row, inode: row.inode + 1, uid: 54_323 })), ...rows];
    };
    expect(await findPeerUid(socket, { read: two })).toBeNull();
  });
});
