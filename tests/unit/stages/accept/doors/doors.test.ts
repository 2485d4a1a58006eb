import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sweeper } from '../../../../../src/kit/sweeper.ts';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { OpenConnection, Opening } from '../../../../../src/stages/accept/doors/door-ports.ts';
import { Doors } from '../../../../../src/stages/accept/doors/doors.ts';
import { eventually } from '../../../../support/eventually.ts';
import { Wire } from '../../../../support/wire.ts';

function never(): never {
  throw new Error('nobody called');
}

describe('where connections are counted elsewhere', () => {
  interface Asked {
    readonly connection: OpenConnection;
    readonly settle: (opening: Opening) => void;
  }

  let doors: Doors;
  let sweeper: Sweeper;
  let asked: Asked[];
  let left: OpenConnection[];
  let served: string[];
  let port: number;

  beforeEach(async () => {
    [asked, left, served] = [[], [], []];
    sweeper = new Sweeper();
    doors = new Doors({
      ports: {
        serve: ({ request, exchange }) => {
          served.push(request.target);
          exchange.answer(200, new HeaderList(), Buffer.from('fine'));
          return null;
        },
        admit: never,
        whyNot: never,
        tunnels: never,
        confirm: () => null,
        countQuestion: never,
        answersUnknown: never,
        contextFor: never,
        settings: () => ({
          sweeper,
          headBytes: 65_536,
          requestBodyBytes: 0,
          clientHeadTimeoutMs: 60_000,
          idleTimeoutMs: 60_000,
          carriesCredential: () => false,
        }),
      },
      gate: {
        enter: (connection) => new Promise((settle) => asked.push({ connection, settle })),
        identified: () => true,
        leave: (connection) => left.push(connection),
      },
    });
    port = Number((await doors.openTcp('127.0.0.1', 0)).split(':')[1]);
  });

  afterEach(async () => {
    await doors.drain(0);
    sweeper.stop();
  });

  async function knock(): Promise<{ readonly wire: Wire; readonly last: Asked }> {
    const before = asked.length;
    const wire = new Wire(connect(port, '127.0.0.1'));
    wire.send('GET http://api.example/early HTTP/1.1\r\nHost: api.example\r\n\r\n');
    await eventually(() => asked.length > before, 'it is asked for');
    return { wire, last: asked.at(-1)! };
  }

  test('nothing is read before it is known, and nothing that came before is lost', async () => {
    const { wire, last } = await knock();
    expect([served, doors.openConnections]).toEqual([[], 0]);
    last.settle(true);
    expect((await wire.answer()).body).toBe('fine');
    expect([served, doors.openConnections]).toEqual([['http://api.example/early'], 1]);
    wire.socket.destroy();
    await eventually(() => left.length === 1, 'its place is given back');
  });

  test('one that is not let in is told by which limit, and has no place to give back', async () => {
    const { wire, last } = await knock();
    last.settle('limit.connection-rate');
    expect((await wire.until('\r\n\r\n')).split('\r\n')).toContain('X-Sallyport-Refused: limit.connection-rate');
    expect([served, left, doors.openConnections]).toEqual([[], [], 0]);
  });

  test('one that left in the meantime gives its place back', async () => {
    const { wire, last } = await knock();
    wire.socket.destroy();
    const { socket } = last.connection as unknown as { socket: Socket };
    await eventually(() => {
      // Whether it is gone is seen only by who reads.
      socket.resume();
      return socket.destroyed;
    }, 'it is gone');
    last.settle(true);
    await eventually(() => left.length === 1, 'its place is given back');
    expect([served, doors.openConnections]).toEqual([[], 0]);
  });

  test('nobody is let in any more once the doors are shut', async () => {
    const { wire, last } = await knock();
    await doors.drain(0);
    last.settle(true);
    await wire.rest();
    expect([served, left.length, doors.openConnections]).toEqual([[], 1, 0]);
  });
});
