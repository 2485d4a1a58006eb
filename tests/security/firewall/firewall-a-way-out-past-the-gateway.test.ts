import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused, sendUdp } from '../../support/firewall-attack.ts';
import {
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  outside,
  seats,
} from '../../support/firewall-ground.ts';
import { plainFrame, udp6Frame, udpFrame } from '../../support/frames.ts';

const { a, gateway, hostSide } = seats;
const elsewhere4 = ['bridge', 'IPv4: to another than the gateway'] as const;
const elsewhere6 = ['bridge', 'IPv6: to another than the gateway'] as const;
const noPort4 = ['bridge', 'IPv4: not a port of the gateway'] as const;
const noPort6 = ['bridge', 'IPv6: not a port of the gateway'] as const;
const out = ['inet', 'out of this network through the host'] as const;

describe('a registered sandbox has no way out but the gateway', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test.each(['bridge', 'host'] as const)('no address outside answers it, with the gateway on the %s', async (where) => {
    await expectRefused(ground, groundRuleset(where), {
      send: (mark) => ground.send('a', udpFrame(a, { ...hostSide, v4: outside.v4 }, 8022, mark)),
      lands: 'outside',
      refusedBy: [elsewhere4, noPort4, out],
    });
  });

  test('where its traffic is led to the gateway, what is not for a door of it goes nowhere', async () => {
    const redirect = { tcpPorts: [53, 80, 443], udpPorts: [53] };
    await expectRefused(ground, groundRuleset('host', { redirect }), {
      send: (mark) => ground.send('a', udpFrame(a, { ...hostSide, v4: outside.v4 }, 8022, mark)),
      lands: 'outside',
      refusedBy: [elsewhere4, noPort4, out],
    });
  });

  test('no other resolver is asked, over the way that its own kernel finds', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'a', outside.v4, 53, mark),
      lands: 'outside',
      refusedBy: [elsewhere4, out],
    });
  });

  test('nor over IPv6', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'a', outside.v6, 53, mark),
      lands: 'outside',
      refusedBy: [elsewhere6, out],
    });
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('a', udp6Frame(a, { ...hostSide, v6: outside.v6 }, 8022, mark)),
      lands: 'outside',
      refusedBy: [elsewhere6, noPort6, out],
    });
  });

  test('where the network has no IPv6, there is none', async () => {
    const ruleset = groundRuleset('bridge', {
      gateway: { v4: gateway.v4, v6: null, at: { port: gateway.port, mac: gateway.mac } },
    });
    await expectRefused(ground, ruleset, {
      send: (mark) => ground.send('a', udp6Frame(a, { ...hostSide, v6: outside.v6 }, 53, mark)),
      lands: 'outside',
      refusedBy: [['bridge', 'neither ARP nor IPv4: no IPv6 here'], out],
    });
  });

  test('of the gateway, nothing but its ports is reached', async () => {
    for (const [frame, rule] of [
      [(mark: string) => udpFrame(a, gateway, 8022, mark), noPort4],
      [(mark: string) => udp6Frame(a, gateway, 8022, mark), noPort6],
    ] as const) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('a', frame(mark)),
        lands: 'gateway',
        refusedBy: [rule],
      });
    }
  });

  test('no piece of a packet passes, whatever port it names', async () => {
    for (const fragment of [0x2000, 0x0001]) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('a', udpFrame(a, gateway, 53, mark, { fragment })),
        lands: 'gateway',
        // The bridge puts pieces together only where br_netfilter is on; without it they arrive as they were sent.
        refusedBy: [noPort4],
      });
    }
  });

  test('nothing but ARP and IP passes, nor these under the tag of a VLAN', async () => {
    const tagged = (mark: string, tag: string): Buffer => {
      const plain = udpFrame({ ...a, v4: '192.0.2.99' }, gateway, 53, mark);
      return Buffer.concat([plain.subarray(0, 12), Buffer.from(tag, 'hex'), plain.subarray(12)]);
    };
    for (const frame of [
      (mark: string) => plainFrame(a.mac, gateway.mac, 0x88b5, mark),
      // Network 0 is no network: who receives it takes it for a frame without a tag.
      (mark: string) => tagged(mark, '81000000'),
      (mark: string) => tagged(mark, '81000007'),
    ]) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('a', frame(mark)),
        lands: 'gateway',
        refusedBy: [['bridge', 'neither ARP nor IP']],
      });
    }
  });
});
