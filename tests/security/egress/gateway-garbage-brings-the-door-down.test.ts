// Must not happen: what a sandbox or a stranger sends to the DNS of the door, however broken or however much, ends the
// gateway or takes the door from others.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressesIn, framed, questionOf, readFramed } from '../../support/dns-ground.ts';
import { eventually } from '../../support/eventually.ts';
import { type LoopbackNetwork, openLoopbackNetwork } from '../../support/loopback-network.ts';

const host = 'api.example.com';
let network: LoopbackNetwork;

beforeAll(async () => {
  network = await openLoopbackNetwork(4, { allow: [{ host }] });
});

afterAll(() => network.stop());

const works = async (from: string): Promise<boolean> =>
  addressesIn(await network.ask(from, questionOf(host))).includes(network.door);

async function stream(from: string): Promise<Socket> {
  const socket = connect({ host: network.door, port: 53, localAddress: from });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

describe('the door goes on answering', () => {
  test('after datagrams of every size and kind, from both', async () => {
    const good = questionOf(host);
    const broken = [
      Buffer.alloc(0),
      Buffer.alloc(11),
      Buffer.alloc(12),
      Buffer.alloc(60_000, 0xff),
      Buffer.concat([good, Buffer.alloc(9_000)]),
      Buffer.concat([good.subarray(0, 12), Buffer.alloc(500, 0xc0)]),
      Buffer.concat([good.subarray(0, 4), Buffer.alloc(8, 0xff), good.subarray(12)]),
      Buffer.concat([good.subarray(0, 12), Buffer.from([63]), Buffer.alloc(63, 0x2e), good.subarray(-5)]),
    ];
    for (const from of [network.sandbox, network.stranger]) {
      for (const message of broken) await network.ask(from, message, 30);
    }
    expect(await works(network.sandbox)).toBe(true);
  });

  test('while one caller holds as many connections as it can get, and sends half of a question', async () => {
    const neighbour = network.sandbox.replace(/\d+$/, '12');
    await network.register({ container_ip: neighbour });
    const held = await Promise.all(Array.from({ length: 40 }, () => stream(network.sandbox)));
    const strangers = await Promise.all(Array.from({ length: 20 }, () => stream(network.stranger)));
    for (const socket of [...held, ...strangers]) socket.write(Buffer.from([0, 40, 1]));
    const left = (sockets: Socket[]): number => sockets.filter(({ closed }) => !closed).length;
    await eventually(() => left(held) <= 32 && left(strangers) <= 8, 'those over the limit are closed');
    const other = await stream(neighbour);
    other.write(framed(questionOf(host)));
    expect((await readFramed(other, 1)).map(addressesIn)).toEqual([[network.door]]);
    for (const socket of [other, ...held, ...strangers]) socket.destroy();
  });

  test('when a connection is reset while it is being answered', async () => {
    for (let i = 0; i < 20; i++) {
      const socket = await stream(network.sandbox);
      socket.write(Buffer.concat(Array.from({ length: 5 }, () => framed(questionOf(host)))));
      socket.resetAndDestroy();
    }
    await eventually(() => works(network.sandbox), 'an answer');
    expect((await network.admin('GET', '/internal/health')).status).toBe(200);
  });
});
