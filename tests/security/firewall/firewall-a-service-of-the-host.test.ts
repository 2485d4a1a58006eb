import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused, sendUdp } from '../../support/firewall-attack.ts';
import {
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  outside,
  seats,
} from '../../support/firewall-ground.ts';
import { udp6Frame, udpFrame } from '../../support/frames.ts';

const { a, hostSide } = seats;
const elsewhere4 = ['bridge', 'IPv4: to another than the gateway'] as const;
const elsewhere6 = ['bridge', 'IPv6: to another than the gateway'] as const;
const noPort4 = ['bridge', 'IPv4: not a port of the gateway'] as const;
const noPort6 = ['bridge', 'IPv6: not a port of the gateway'] as const;
const services = ['inet', 'host: its own services'] as const;
const unfiltered = ['inet', 'IP in a frame that no bridge filters'] as const;
/** Such a frame seems to come in by the port itself. */
const notByItsNetwork = ['inet', 'host: from a sandbox, but not by its network, IPv4'] as const;

describe('a registered sandbox does not reach what the host listens on', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test.each([hostSide.v4, outside.hostV4])('not at %s, with the gateway on the bridge', async (v4) => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('a', udpFrame(a, { ...hostSide, v4 }, 8022, mark)),
      lands: 'host',
      refusedBy: [elsewhere4, noPort4, services],
    });
  });

  test.each([hostSide.v6, outside.hostV6])('not at %s, with the gateway on the bridge', async (v6) => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('a', udp6Frame(a, { ...hostSide, v6 }, 8022, mark)),
      lands: 'host',
      refusedBy: [elsewhere6, noPort6, services],
    });
  });

  test('not beside the gateway on the same address', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'a', hostSide.v4, 8022, mark),
      lands: 'host',
      refusedBy: [noPort4, services],
    });
  });

  test('not on the ports of the gateway at another address of the host', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'a', outside.hostV4, 53, mark),
      lands: 'host',
      refusedBy: [elsewhere4, services],
    });
  });

  test.each(['bridge', 'host'] as const)(
    'not in a frame that bridges hand on unfiltered, with the gateway on the %s',
    async (where) => {
      const lldp = '01:80:c2:00:00:0e';
      await expectRefused(ground, groundRuleset(where), {
        send: (mark) => ground.send('a', udpFrame(a, { mac: lldp, v4: hostSide.v4 }, 8022, mark)),
        lands: 'host',
        refusedBy: [unfiltered, ...(where === 'host' ? [notByItsNetwork] : [])],
      });
    },
  );
});
