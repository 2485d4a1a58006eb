import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused } from '../../support/firewall-attack.ts';
import { type FirewallGround, groundRuleset, makeFirewallGround, seats } from '../../support/firewall-ground.ts';
import { plainFrame, udp6Frame, udpFrame } from '../../support/frames.ts';

const { a, b, gateway, hostSide } = seats;
const between = [
  ['bridge', 'from a sandbox to another port than that of the gateway'],
  ['bridge', 'to this network from a port that is not known'],
] as const;

const throughHost = [
  ['inet', 'out of this network through the host'],
  ['inet', 'into this network through the host'],
] as const;

describe('a registered sandbox does not reach another one', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test.each(['bridge', 'host'] as const)('not at its address, with the gateway on the %s', async (where) => {
    await expectRefused(ground, groundRuleset(where), {
      send: (mark) => ground.send('a', udpFrame(a, b, 53, mark)),
      lands: 'b',
      // Where br_netfilter is on, the host sees even what is only bridged: with the gateway on it, that is one more wall.
      refusedBy: [
        ['bridge', 'IPv4: to another than the gateway'],
        ...between,
        ...(where === 'host' ? throughHost : []),
      ],
    });
  });

  test('not over IPv6', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('a', udp6Frame(a, b, 53, mark)),
      lands: 'b',
      refusedBy: [['bridge', 'IPv6: to another than the gateway'], ...between],
    });
  });

  test('not in a packet that names the gateway, in a frame for the other one or for everybody', async () => {
    for (const mac of [b.mac, 'ff:ff:ff:ff:ff:ff']) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('a', udpFrame(a, { ...gateway, mac }, 53, mark)),
        lands: 'b',
        refusedBy: between,
      });
    }
  });

  test('not in a frame that is neither ARP nor IP', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('a', plainFrame(a.mac, b.mac, 0x88b5, mark)),
      lands: 'b',
      refusedBy: [['bridge', 'neither ARP nor IP'], ...between],
    });
  });

  test('not by way of the host', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => ground.send('a', udpFrame(a, { ...b, mac: hostSide.mac }, 53, mark)),
      lands: 'b',
      refusedBy: [['bridge', 'IPv4: to another than the gateway'], ...throughHost],
    });
  });
});
