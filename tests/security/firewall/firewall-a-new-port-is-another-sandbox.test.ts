// Must not happen: a container that was plugged in a moment ago, at a port that the rules do not know yet, speaks as a
// registered sandbox to a gateway on the host, or reads its answers. On a kernel that cannot tell a bridge by its name.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { expectRefused, hasMark, sendUdp } from '../../support/firewall-attack.ts';
import {
  bridge,
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  outside,
  seats,
} from '../../support/firewall-ground.ts';
import { arpFrame, neighbourAdvert, neighbourSolicit, udp6Frame, udpFrame } from '../../support/frames.ts';

const { a, c, gateway, hostSide } = seats;
const lldp = '01:80:c2:00:00:0e';
const mac = ['bridge', 'unknown port: with the MAC of another'] as const;
const source4 = ['bridge', 'unknown port: with the IPv4 address of another'] as const;
const arpSender = ['bridge', 'unknown port: ARP in the name of another'] as const;
const source6 = ['bridge', 'unknown port: with the IPv6 address of another'] as const;
const advert = ['bridge', 'unknown port: advertises the IPv6 address of another'] as const;
const toMac = ['bridge', 'host: to the MAC of a sandbox by an unknown port'] as const;
const to4 = ['bridge', 'host: to the IPv4 address of a sandbox by an unknown port'] as const;
const to6 = ['bridge', 'host: to the IPv6 address of a sandbox by an unknown port'] as const;

const claims = [mac, source4, arpSender, source6, advert, toMac, to4, to6] as const;

describe('a port that is not known yet is no registered sandbox', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  const withoutC = groundRuleset('host', {}, { ports: ['pa', 'pb', 'pgw'] });

  async function must(place: 'host' | 'c', script: string): Promise<void> {
    const { code, stderr } = await ground.run(place, ['sh', '-e', '-c', script]);
    if (code !== 0) throw new Error(stderr);
  }

  /** C looks like A in everything that it can choose; A is silent. */
  async function asA(work: () => Promise<void>): Promise<void> {
    const dress = (from: typeof a | typeof c, to: typeof a | typeof c): Promise<void> =>
      must(
        'c',
        `ip link set eth0 address ${to.mac}
         ip address del ${from.v4}/24 dev eth0; ip address add ${to.v4}/24 dev eth0
         ip -6 address del ${from.v6}/64 dev eth0; ip -6 address add ${to.v6}/64 dev eth0 nodad
         ip neighbour replace ${hostSide.v4} lladdr ${hostSide.mac} dev eth0
         ip -6 neighbour replace ${hostSide.v6} lladdr ${hostSide.mac} dev eth0`,
      );
    await must('host', `ip link set ${a.port} nomaster`);
    await dress(c, a);
    try {
      await work();
    } finally {
      await dress(a, c);
      await must('host', `ip link set ${a.port} master ${bridge}`);
    }
  }

  const connect = (address: string, mark: string): Promise<unknown> =>
    ground.run('c', ['python3', '-c', tcpScript, address, mark]);

  test('not over TCP, with its MAC and its address', async () => {
    await ground.reset();
    await ground.load(withoutC.text);
    await asA(async () => {
      const marks = ['mark-tcp-4-', 'mark-tcp-6-'];
      const before = await ground.count(...mac).catch(() => -1);
      await connect(hostSide.v4, marks[0]!);
      await connect(hostSide.v6, marks[1]!);
      for (const mark of marks) expect(ground.arrived('host')).not.toContain(mark);
      expect(await ground.count(...mac)).toBeGreaterThan(before);
      // The same, with exactly these rules gone, is a conversation.
      for (const rule of claims) await ground.removeRule(rule[0], rule[1]);
      await connect(hostSide.v4, marks[0]!);
      await connect(hostSide.v6, marks[1]!);
      for (const mark of marks) expect(ground.arrived('host')).toContain(mark);
    });
  });

  test.each([
    ['IPv4', udpFrame, source4],
    ['IPv6', udp6Frame, source6],
  ] as const)('not over UDP: %s', async (_name, frame, source) => {
    await expectRefused(ground, withoutC, {
      send: (mark) => ground.send('c', frame(a, hostSide, 53, mark)),
      lands: 'host',
      refusedBy: [mac, source],
    });
  });

  const believesThatAisC = async (address: string): Promise<boolean> =>
    (await ground.run('host', ['ip', 'neighbour', 'show', address])).stdout.includes(c.mac);

  const lie4 = arpFrame({
    frameFrom: c.mac,
    frameTo: hostSide.mac,
    operation: 'reply',
    senderMac: c.mac,
    senderIp: a.v4,
    targetIp: hostSide.v4,
  });
  const lie6 = neighbourAdvert(c, hostSide, a.v6, c.mac);

  test.each([
    ['by ARP', a.v4, hostSide.v4, lie4, arpSender],
    ['by ARP in a frame with a priority tag', a.v4, hostSide.v4, tagged(lie4), arpSender],
    ['by a neighbour advertisement', a.v6, hostSide.v6, lie6, advert],
    ['by a neighbour advertisement with a priority tag', a.v6, hostSide.v6, tagged(lie6), advert],
    [
      'by a question in its name',
      a.v6,
      hostSide.v6,
      neighbourSolicit({ ...c, v6: a.v6 }, hostSide, hostSide.v6),
      source6,
    ],
  ] as const)('it does not lead the traffic of another to itself %s', async (_name, address, host, lie, rule) => {
    await expectRefused(ground, withoutC, {
      send: async () => {
        await sendUdp(ground, 'a', host, 53, 'hello');
        ground.send('c', lie);
      },
      lands: 'host',
      shows: () => believesThatAisC(address),
      refusedBy: [rule],
    });
  });

  test.each([
    ['IPv4', a.v4, to4],
    ['IPv6', a.v6, to6],
  ] as const)('it reads no answer that it has drawn to its port: %s', async (_name, address, to) => {
    await expectRefused(ground, withoutC, {
      async send(mark) {
        ground.send('c', udpFrame({ ...c, mac: a.mac }, { mac: lldp, v4: gateway.v4 }, 9, 'here'));
        await eventually(async () => {
          const { stdout } = await ground.run('host', ['bridge', 'fdb', 'show', 'br', bridge]);
          return stdout.includes(`${a.mac} dev ${c.port} `);
        }, `${a.mac} is believed to be at ${c.port}`);
        await must('host', `ip neighbour replace ${address} lladdr ${a.mac} dev ${bridge}`);
        await sendUdp(ground, 'host', address, 40_000, mark);
      },
      lands: 'c',
      refusedBy: [['inet', 'host: begins nothing with a sandbox'], toMac, to],
    });
    await must('host', `ip neighbour del ${address} dev ${bridge}`);
  });

  test('nor does it draw the traffic of a gateway on the bridge to itself', async () => {
    const onBridge = groundRuleset('bridge', {}, { ports: ['pa', 'pb'] });
    await expectRefused(ground, onBridge, {
      send: () => ground.send('c', udpFrame({ ...c, mac: gateway.mac }, a, 9, 'here')),
      lands: 'host',
      shows: async () => {
        const { stdout } = await ground.run('host', ['bridge', 'fdb', 'show', 'br', bridge]);
        return stdout.includes(`${gateway.mac} dev ${c.port} `);
      },
      refusedBy: [mac],
    });
  });

  test('nor is anybody on another interface of the host a sandbox, and no answer to one leaves by it', async () => {
    await expectRefused(ground, withoutC, {
      send: async (mark) => {
        const script = `ip address replace ${a.v4}/32 dev eth0; exec python3 -c "$0" ${a.v4} ${hostSide.v4} ${mark}`;
        await ground.run('outside', ['sh', '-c', script, boundScript]);
      },
      lands: 'host',
      refusedBy: [['inet', 'host: from a sandbox, but not by its network, IPv4']],
    });
    await ground.run('outside', ['ip', 'address', 'del', `${a.v4}/32`, 'dev', 'eth0']);
    await must('host', `ip link set ${bridge} down; ip route replace default via ${outside.v4}`);
    await expectOutside(a.v4);
    // An interface that goes down loses its IPv6 addresses.
    await must(
      'host',
      `ip route del default; ip link set ${bridge} up; ip address add ${hostSide.v6}/64 dev ${bridge} nodad`,
    );
  });

  /** With the bridge down, the default route of the host leads outside. */
  async function expectOutside(address: string): Promise<void> {
    const rule = ['inet', 'host: to a sandbox, but not by its network, IPv4'] as const;
    await ground.load(withoutC.text);
    await sendUdp(ground, 'host', address, 40_000, 'mark-out-1-');
    expect(await ground.count(...rule)).toBeGreaterThan(0);
    await ground.removeRule(rule[0], rule[1]);
    await sendUdp(ground, 'host', address, 40_000, 'mark-out-2-');
    await eventually(() => hasMark(ground.arrived('outside'), 'mark-out-2-'), 'without the rule it leaves');
    expect(hasMark(ground.arrived('outside'), 'mark-out-1-')).toBe(false);
  }

  test('the sandbox itself is served meanwhile, and a port of another network is left alone', async () => {
    await ground.reset();
    await ground.load(withoutC.text);
    for (const address of [hostSide.v4, hostSide.v6]) {
      expect(await sendUdp(ground, 'a', address, 53, 'work')).toMatchObject({ stdout: 'answer work\n' });
    }
    // Another bridge of the same host, with somebody at either end: C stands for both, by a second cable.
    await must(
      'host',
      `ip link add br-other type bridge; ip link set br-other up; ip address add 203.0.113.1/24 dev br-other
       ip link set ${c.port} master br-other`,
    );
    await must('c', 'ip address add 203.0.113.12/24 dev eth0');
    expect(await sendUdp(ground, 'c', '203.0.113.1', 53, 'others')).toMatchObject({ stdout: 'answer others\n' });
    await must('host', `ip link set ${c.port} master ${bridge}; ip link del br-other`);
  });
});

/** With an 802.1Q tag that names no VLAN: the host takes such a frame as if it had none. */
function tagged(frame: Buffer): Buffer {
  return Buffer.concat([frame.subarray(0, 12), Buffer.from('8100e000', 'hex'), frame.subarray(12)]);
}

const tcpScript = `import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(1.5)
try:
    s.connect((sys.argv[1], 443)); s.sendall(sys.argv[2].encode()); print(s.recv(2048).decode())
except OSError as e: print(e)`;

const boundScript = `import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((sys.argv[1], 0))
s.sendto(sys.argv[3].encode(), (sys.argv[2], 53))`;
