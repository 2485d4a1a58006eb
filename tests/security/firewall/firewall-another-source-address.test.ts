import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused } from '../../support/firewall-attack.ts';
import { type FirewallGround, groundRuleset, makeFirewallGround, seats } from '../../support/firewall-ground.ts';
import { udp6Frame, udpFrame } from '../../support/frames.ts';

const { a, b, gateway, hostSide } = seats;
const source4 = 'IPv4: the source is not registered with this MAC on this port';
const source6 = 'IPv6: the source is not registered with this MAC on this port';

describe('a sandbox does not speak in the name of another', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test('not with the address of another', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', udpFrame({ ...b, v4: a.v4 }, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [['bridge', source4]],
    });
  });

  test('not with an address that nobody has', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', udpFrame({ ...b, v4: '203.0.113.9' }, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [['bridge', source4]],
    });
  });

  test('not with a MAC of its own making', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', udpFrame({ ...b, mac: '02:00:00:00:00:99' }, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [['bridge', source4]],
    });
  });

  test('not with both the address and the MAC of another: it is on another port', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', udpFrame(a, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [['bridge', source4]],
    });
  });

  test('not with the address and the MAC of the gateway, to another sandbox', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', udpFrame(gateway, a, 53, mark)),
      lands: 'a',
      refusedBy: [
        ['bridge', source4],
        ['bridge', 'IPv4: to another than the gateway'],
        ['bridge', 'from a sandbox to another port than that of the gateway'],
        ['bridge', 'to this network from a port that is not known'],
      ],
    });
  });

  test('not with the IPv6 address of another, nor with its MAC as well', async () => {
    for (const liar of [{ ...b, v6: a.v6 }, a]) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('b', udp6Frame(liar, gateway, 53, mark)),
        lands: 'gateway',
        refusedBy: [['bridge', source6]],
      });
    }
  });

  test('not to a gateway on the host either, which looks once more', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => ground.send('b', udpFrame({ ...b, v4: a.v4 }, hostSide, 53, mark)),
      lands: 'host',
      refusedBy: [
        ['bridge', source4],
        ['inet', 'host: its own services'],
      ],
    });
  });
});
