// Attack: a process of another uid sends a request to the shim and gives up its port at the moment at which the shim looks up
// whose it is; the agent's next connection has the same port, and the request passes as the agent's.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPeerUid } from '../../../src/sandbox/shim/peer-uid.ts';
import { type SocketRow, SocketTables, type TableName, tableForm } from '../../../src/sandbox/shim/socket-table.ts';
import { Dialer } from '../../support/dialer.ts';

const agent = 54_321;
const attacker = 54_323;
let dialer: Dialer;
let server: Server;
let port: number;
const accepted: Socket[] = [];

beforeAll(async () => {
  dialer = new Dialer();
  server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    accepted.push(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  await dialer.end();
  for (const socket of accepted) socket.destroy();
  server.close();
});

/** The attacker's connection as the shim accepts it, and what makes its port the agent's. */
async function attack(name: string): Promise<{ taken: Socket; changeHands: () => Promise<void>; from: number }> {
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const from = await dialer.connect(`attacker ${name}`, attacker, port, 'kept');
  const [taken] = await accepting;
  await dialer.send(`attacker ${name}`, 'POST http://a.example/ HTTP/1.1\r\n\r\n');
  const changeHands = async (): Promise<void> => {
    await dialer.reset(`attacker ${name}`);
    expect(await dialer.connect(`agent ${name}`, agent, port, from)).toBe(from);
  };
  return { taken, changeHands, from };
}

/** The kernel's tables, with something happening before each of the first reads. */
function tablesWith(
  before: readonly (() => Promise<void>)[],
  after: (rows: readonly SocketRow[]) => readonly SocketRow[] = (rows) => rows,
) {
  const tables = new SocketTables();
  let reads = 0;
  return {
    async read(table: TableName) {
      const read = reads++;
      await before[read]?.();
      const rows = await tables.read(table);
      return read === 0 ? after(rows) : rows;
    },
  };
}

describe('a port that changes hands', () => {
  test('before the table is read lends the attacker nothing', async () => {
    const { taken, changeHands, from } = await attack('before');
    // The row of the port is the agent's by then: the lookup by address alone would say so.
    const seen: number[] = [];
    const tables = tablesWith([changeHands], (rows) => {
      seen.push(
        ...rows
          .filter((row) => row.local === tableForm('127.0.0.1', from, 'tcp') && row.state === 1)
          .map(({ uid }) => uid),
      );
      return rows;
    });
    expect(await findPeerUid(taken, tables)).toBeNull();
    expect(seen).toEqual([agent]);
  });

  test('while the table is read, after our end of it was passed and before the other is reached, neither', async () => {
    const { taken, changeHands, from } = await attack('within');
    const old = (await new SocketTables().read('tcp')).filter(
      (row) => row.remote === tableForm('127.0.0.1', from, 'tcp'),
    );
    expect(old).toHaveLength(1);
    const tables = tablesWith([changeHands], (rows) => [...old, ...rows]);
    expect(await findPeerUid(taken, tables)).toBeNull();
  });

  test('between the two looks, neither', async () => {
    const { taken, changeHands, from } = await attack('between');
    const ours = tableForm('127.0.0.1', from, 'tcp');
    // Our own row comes first: the table is read a second time to see whether it is still there.
    const tables = tablesWith([async () => {}, changeHands], (rows) => [
      ...rows.filter((row) => row.remote === ours),
      ...rows.filter((row) => row.remote !== ours),
    ]);
    expect(await findPeerUid(taken, tables)).toBeNull();
  });

  test('and the agent that has it afterwards is the agent', async () => {
    const { changeHands } = await attack('after');
    const accepting = once(server, 'connection') as Promise<[Socket]>;
    await changeHands();
    const [taken] = await accepting;
    expect(await findPeerUid(taken, new SocketTables())).toBe(agent);
  });
});
