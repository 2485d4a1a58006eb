import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  ClientIntake,
  holdLittleUnread,
  takenBytes,
  waitingBytes,
} from '../../../../../src/stages/accept/http/client-intake.ts';
import { eventually } from '../../../../support/eventually.ts';

const ends: Socket[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end.destroy();
});

async function pair(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const listener = createServer({ highWaterMark: 256 * 1024 });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const [server] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  ends.push(client, server);
  for (const end of [client, server]) end.on('error', () => {});
  return { client, server };
}

describe('what a client takes', () => {
  test('is seen as it moves, and not when it does not', async () => {
    const { client, server } = await pair();
    client.pause();
    const intake = new ClientIntake(server);
    while (server.write(Buffer.alloc(64 * 1024)));
    await eventually(() => {
      const before = takenBytes(server);
      return before > 0 && waitingBytes(server, server) > 0 && server.write(Buffer.alloc(64 * 1024)) === false;
    }, 'the client is full');
    await eventually(() => !intake.moved(), 'nothing moves any more');
    expect(intake.moved()).toBe(false);
    client.resume();
    await eventually(() => intake.moved(), 'it moves again');
  });

  test('a socket that is closed has taken nothing', async () => {
    const { server } = await pair();
    server.destroy();
    await once(server, 'close');
    expect([takenBytes(server), waitingBytes(server, server)]).toEqual([0, 0]);
  });
});

describe('what a client sends while nobody reads', () => {
  test('waits in the kernel, and hardly here', async () => {
    const { client, server } = await pair();
    holdLittleUnread(server);
    server.once('data', () => server.pause());
    let pieces = 0;
    // One at a time, so that each comes by itself.
    for (; pieces < 3_000; pieces++) {
      client.write(Buffer.alloc(16));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(pieces * 16).toBeGreaterThan(40_000);
    expect(server.readableLength).toBeLessThan(20_000);
  });
});
