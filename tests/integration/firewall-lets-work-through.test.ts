import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FirewallGround, groundRuleset, makeFirewallGround, outside, seats } from '../support/firewall-ground.ts';

const { gateway, hostSide } = seats;

describe('a registered sandbox works with the gateway', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  /** What A is answered, in one go: it asks for each over TCP and over UDP. */
  const answersOf = async (...addresses: readonly string[]): Promise<string[]> => {
    const asked = addresses.flatMap((address) => [`tcp ${address} 443`, `tcp ${address} 80`, `udp ${address} 53`]);
    return (await ground.run('a', ['python3', '-c', askAll, ...asked])).stdout.trim().split('\n');
  };
  const answered = (count: number): string[] => new Array<string>(3 * count).fill('answer hello');

  test.each([
    ['bridge', 'on', gateway],
    ['bridge', 'off', gateway],
    ['host', 'on', hostSide],
    ['host', 'off', hostSide],
  ] as const)('with the gateway on the %s and br_netfilter %s', async (where, netfilter, seat) => {
    await ground.reset();
    await setNetfilter(ground, netfilter === 'on');
    await ground.load(groundRuleset(where).text);
    expect(await answersOf(seat.v4, seat.v6)).toEqual(answered(2));
  });

  test.each(['on', 'off'] as const)(
    'whatever address it names is led to the gateway on the host, br_netfilter %s',
    async (netfilter) => {
      await ground.reset();
      await setNetfilter(ground, netfilter === 'on');
      const redirect = { tcpPorts: [53, 80, 443], udpPorts: [53] };
      await ground.load(groundRuleset('host', { redirect }).text);
      // Nothing is to be routed, so the host need not be a router.
      await ground.run('host', ['sh', '-c', 'echo 0 > /proc/sys/net/ipv4/ip_forward']);
      const before = ground.arrived('host').length;
      const addresses = [outside.v4, outside.v6, '203.0.113.80', hostSide.v4];
      expect(await answersOf(...addresses)).toEqual(answered(addresses.length));
      const arrived = ground.arrived('host').slice(before);
      expect(arrived.match(/^tcp 443 hello$/gm)).toHaveLength(addresses.length);
      expect(arrived.match(/^udp 53 hello$/gm)).toHaveLength(addresses.length);
      expect(ground.arrived('outside')).not.toContain('hello');
    },
  );
});

async function setNetfilter(ground: FirewallGround, on: boolean): Promise<void> {
  const script = ['iptables', 'ip6tables', 'arptables'].map(
    (name) => `echo ${on ? 1 : 0} > /proc/sys/net/bridge/bridge-nf-call-${name}`,
  );
  const { code, stderr } = await ground.run('host', ['sh', '-ec', script.join('\n')]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
}

const askAll = `import socket, sys
for asked in sys.argv[1:]:
    kind, address, port = asked.split()
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
    s.settimeout(3)
    try:
        s.connect((address, int(port))); s.sendall(b'hello'); print(s.recv(2048).decode())
    except OSError as e: print(asked, e)
    s.close()`;
