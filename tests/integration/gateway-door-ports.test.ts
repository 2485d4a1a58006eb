// Which ports the door on a network has, and what it says of those it cannot have. Needs the right to listen on low ports.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { DoorPorts } from '../../src/stages/accept/doors/door-ports.ts';
import { Doors } from '../../src/stages/accept/doors/doors.ts';
import {
  type GatewayDoor,
  type GatewayDoorOptions,
  openGatewayDoor,
} from '../../src/stages/accept/doors/gateway-door.ts';
import { openGate } from '../support/hand-made-gate.ts';

// All of 127.0.0.0/8 is this machine: an address of its own for each test of these.
const address = '127.81.1.1';
let door: GatewayDoor | null = null;
const others: (Server | UdpSocket)[] = [];

afterEach(() => {
  door?.close();
  door = null;
  for (const one of others.splice(0)) one.close();
});

function never(): never {
  throw new Error('nobody called');
}

const ports: DoorPorts = {
  serve: never,
  admit: never,
  whyNot: never,
  tunnels: never,
  confirm: () => null,
  countQuestion: never,
  answersUnknown: never,
  contextFor: never,
  settings: never,
  opened: never,
  identified: never,
  closed: never,
};

async function open(over: Partial<GatewayDoorOptions> = {}): Promise<GatewayDoor> {
  const answers = { v4: address, v6: null };
  door = await openGatewayDoor({ address, ports: [443], taken: [], answers, sandboxAt: () => null, ...over }, ports);
  return door;
}

async function isOpen(port: number, at = address): Promise<boolean> {
  const socket = connect(port, at);
  const result = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return result;
}

async function occupy(port: number, at: string): Promise<void> {
  const server = createServer().listen(port, at);
  others.push(server);
  await once(server, 'listening');
}

describe('the door listens on exactly its address', () => {
  test('on 53, 80, 443 and every other port of the policy', async () => {
    // Nobody is let in: what counts is who listens.
    const { addresses } = await open({ ports: [443, 8443, 53, 8443] });
    expect(addresses).toEqual([53, 80, 443, 8443].map((port) => `${address}:${port}`));
    expect(await Promise.all([53, 8444].map((port) => isOpen(port)))).toEqual([true, false]);
    expect(await isOpen(8443, '127.81.1.2')).toBe(false);
  });

  test('on IPv6, in the one spelling of its address', async () => {
    const { addresses } = await open({ address: '0:0:0:0:0:0:0:1', ports: [] });
    expect(addresses).toEqual(['[::1]:53', '[::1]:80', '[::1]:443']);
  });

  test('a port of the policy that another door has there is left to it', async () => {
    const taken = [`${address}:8080`, '0.0.0.0:8081', '[::]:8082', '127.81.1.9:8083'];
    await occupy(8080, address);
    const { addresses } = await open({ ports: [8080, 8081, 8082, 8083], taken });
    expect(addresses.map((one) => one.split(':')[1])).toEqual(['53', '80', '443', '8083']);
  });

  test('but not one that it cannot do without', async () => {
    await expect(open({ taken: ['0.0.0.0:443'] })).rejects.toThrow(
      `the door 0.0.0.0:443 has port 443 of ${address}, which listen.gateway needs`,
    );
  });

  test.each(['0.0.0.0', '::', '0:0::0'])('never on every address (%s)', async (every) => {
    await expect(open({ address: every })).rejects.toThrow('names are answered with this address');
  });
});

describe('what cannot be opened says why, and nothing stays open', () => {
  test('a port that is in use', async () => {
    await occupy(443, address);
    await expect(open({ ports: [8443] })).rejects.toThrow(
      `the gateway door cannot listen on tcp ${address}:443 (EADDRINUSE). Something else listens there`,
    );
    expect(await Promise.all([53, 80, 8443].map((port) => isOpen(port)))).toEqual([false, false, false]);
  });

  test('a resolver that is in the way', async () => {
    const resolver = createSocket('udp4').bind(53, address);
    others.push(resolver);
    await once(resolver, 'listening');
    await expect(open()).rejects.toThrow(/udp 127\.81\.1\.1:53 \(EADDRINUSE\)\. Another resolver.*systemd-resolved/);
    expect(await Promise.all([53, 80, 443].map((port) => isOpen(port)))).toEqual([false, false, false]);
  });

  test('an address that this machine does not have', async () => {
    await expect(open({ address: '192.0.2.77' })).rejects.toThrow(/192\.0\.2\.77:53 \(EADDRNOTAVAIL\).*`ip address`/);
  });
});

describe('ports that change with the policy', () => {
  test('the new is opened, the old is closed, one change after another', async () => {
    const { listenOn } = await open({ ports: [8443] });
    await Promise.all([listenOn([8444]), listenOn([8445]), listenOn([8446])]);
    expect(door?.addresses.map((one) => one.split(':')[1])).toEqual(['53', '80', '443', '8446']);
    expect(await Promise.all([8443, 8444, 8445].map((port) => isOpen(port)))).toEqual([false, false, false]);
  });

  test('one that cannot be opened is told, and takes nothing away', async () => {
    const { listenOn } = await open({ ports: [8443] });
    await occupy(8444, address);
    await expect(listenOn([8444])).rejects.toThrow('EADDRINUSE');
    expect(door?.addresses).toContain(`${address}:8443`);
  });

  test('nor does it keep the others shut', async () => {
    const { listenOn } = await open({ ports: [] });
    await occupy(8444, address);
    await expect(listenOn([8444, 8445])).rejects.toThrow(`tcp ${address}:8444 (EADDRINUSE)`);
    expect(door?.addresses).toContain(`${address}:8445`);
    // Not by calling: who calls is served, and here nobody can be.
    await expect(occupy(8445, address)).rejects.toThrow('EADDRINUSE');
  });

  test('a door that is closed meanwhile opens nothing more', async () => {
    const { listenOn, close } = await open({ ports: [] });
    const changed = listenOn([8443]);
    close();
    await changed;
    expect(await isOpen(8443)).toBe(false);
  });
});

test('a port that one gateway door cannot have is opened by the others, and told', async () => {
  const doors = new Doors({
    ports: {
      serve: never,
      admit: never,
      whyNot: never,
      tunnels: never,
      confirm: () => null,
      countQuestion: never,
      answersUnknown: never,
      contextFor: never,
      settings: never,
    },
    gate: openGate,
  });
  const [crowded, free] = ['127.81.6.1', '127.81.6.2'];
  const occupant = createServer().listen(8444, crowded);
  await once(occupant, 'listening');
  try {
    for (const address of [crowded, free]) {
      const answers = { v4: address, v6: null };
      await doors.openGateway({ address, ports: [], taken: [], answers, sandboxAt: () => null }, never);
    }
    await expect(doors.listenOn([8444])).rejects.toThrow(`${crowded}:8444 (EADDRINUSE)`);
    const taken = createServer().listen(8444, free);
    await expect(once(taken, 'listening')).rejects.toThrow('EADDRINUSE');
  } finally {
    occupant.close();
    await doors.drain(0);
  }
});
