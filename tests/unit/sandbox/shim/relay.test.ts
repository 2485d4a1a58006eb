import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { relay } from '../../../../src/sandbox/shim/client-connection.ts';
import { dialGateway } from '../../../../src/sandbox/shim/dial-gateway.ts';
import { readIdentity } from '../../../../src/sandbox/shim/identity.ts';
import { eventually } from '../../../support/eventually.ts';
import { Wire } from '../../../support/wire.ts';
import { type DoorOptions, openPretendDoor, type PretendDoor } from './pretend-door.ts';
import { makeIdentities } from './pretend-identities.ts';

const identities = makeIdentities();
const identity = readIdentity(identities.identity());
let door: PretendDoor;
let server: Server;
let refusals: (Error | null)[];
let inside: Socket;
let toGateway: TLSSocket;

beforeEach(() => {
  refusals = [];
});
afterEach(async () => {
  inside.destroy();
  server.close();
  await door.close();
});

/** A client, connected through a relay to a door that does as it is told. */
async function connected(onProxy: (socket: TLSSocket) => void, options: DoorOptions = {}): Promise<Socket> {
  door = await openPretendDoor(identities, { ...options, onProxy });
  server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    inside = client;
    void dialGateway(door.endpoint, identity, 'http/1.1').then((gateway) => {
      toGateway = gateway;
      relay(client, gateway, (error) => {
        refusals.push(error);
        client.end('told');
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  await once(client, 'connect');
  return client;
}

const bothGone = () => eventually(() => inside.destroyed && toGateway.destroyed, 'both sides are closed');

describe('bytes between a client and the gateway', () => {
  test('go both ways, and either side may be done first', async () => {
    const wire = new Wire(
      await connected((socket) => {
        let asked = '';
        socket.on('data', (chunk: Buffer) => {
          asked += chunk;
        });
        socket.on('end', () => socket.end(`heard ${asked}`));
      }),
    );
    wire.send('a question');
    (wire.socket as Socket).end();
    expect(await wire.rest()).toBe('heard a question');
    expect(wire.ended).toBe('end');
    await bothGone();
  });

  test('still reach a gateway that has said all it will say', async () => {
    let heard = '';
    const client = await connected((socket) => {
      socket.end('that is all');
      socket.on('data', (chunk: Buffer) => {
        heard += chunk;
      });
    });
    client.resume();
    await once(client, 'end');
    client.write('a last ');
    await eventually(() => heard === 'a last ', 'the first part');
    client.end('word');
    await eventually(() => heard === 'a last word', 'all of it');
    await bothGone();
  });

  test('are read no faster than they are taken', async () => {
    const total = 64 * 1024 * 1024;
    let sent = 0;
    const client = await connected((socket) => {
      const block = Buffer.alloc(256 * 1024);
      const more = (): void => {
        while (sent < total) {
          sent += block.length;
          if (!socket.write(block)) return void socket.once('drain', more);
        }
        socket.end();
      };
      more();
    });
    client.pause();
    // Whatever the kernel and the streams hold, it is far from all.
    let before = -1;
    await eventually(async () => {
      const still = sent === before;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 150));
      return still;
    }, 'the sender waits');
    expect(sent).toBeLessThan(total / 2);
    expect(inside.writableLength + toGateway.readableLength).toBeLessThan(1024 * 1024);
    let received = 0;
    client.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    client.resume();
    await once(client, 'end');
    expect(received).toBe(total);
    client.end();
    await bothGone();
  });

  test('that stop in the middle of an answer are a reset and not an end', async () => {
    let far: TLSSocket | null = null;
    const wire = new Wire(
      await connected((socket) => {
        far = socket;
        socket.write('half an ans');
      }),
    );
    await wire.until('half an ans');
    // The connection below: without the word by which TLS ends.
    (Reflect.get(far!, '_parent') as Socket | null)?.resetAndDestroy();
    far!.destroy();
    await bothGone();
    await eventually(() => wire.ended !== 'open', 'the client is told');
    expect(wire.ended).toBe('error');
    expect(refusals).toEqual([]);
  });

  test('end for the gateway when the client breaks off', async () => {
    let closed = false;
    const client = await connected((socket) => {
      socket.write('hello');
      socket.resume();
      socket.on('end', () => {
        closed = true;
      });
    });
    await once(client, 'data');
    client.resetAndDestroy();
    await eventually(() => closed, 'the gateway sees the end');
    await bothGone();
  });

  test('that the gateway never answers, because it does not take our certificate, are answered by the shim', async () => {
    const wire = new Wire(await connected(() => {}, { ca: makeIdentities().ca }));
    wire.send('CONNECT a.example:443 HTTP/1.1\r\n\r\n');
    expect(await wire.rest()).toBe('told');
    expect(refusals).toHaveLength(1);
  });

  test('from a client that talks on after the gateway is gone hold nothing open', async () => {
    const client = await connected((socket) => {
      socket.end('that is all');
      socket.on('data', () => {});
    });
    client.on('error', () => {});
    await once(client, 'data');
    const talk = setInterval(() => client.writable && client.write('more'), 20);
    try {
      await door.close();
      await bothGone();
    } finally {
      clearInterval(talk);
      client.destroy();
      door = await openPretendDoor(identities);
    }
  });
});
