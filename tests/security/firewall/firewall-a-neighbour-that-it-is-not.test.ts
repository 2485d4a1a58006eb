import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused, sendUdp } from '../../support/firewall-attack.ts';
import {
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  type Place,
  seats,
} from '../../support/firewall-ground.ts';
import { neighbourAdvert, neighbourSolicit, routerAdvert } from '../../support/frames.ts';

const { a, b, gateway, hostSide } = seats;
const source = ['bridge', 'IPv6: the source is not registered with this MAC on this port'] as const;
const claims = ['bridge', 'IPv6: claims or asks for what is not its own'] as const;
const elsewhere = ['bridge', 'IPv6: to another than the gateway'] as const;
const noPort = ['bridge', 'IPv6: not a port of the gateway'] as const;
const between = [
  ['bridge', 'from a sandbox to another port than that of the gateway'],
  ['bridge', 'to this network from a port that is not known'],
] as const;

describe('a sandbox does not lead the traffic of another to itself by IPv6 neighbour discovery', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  /** Whether this very frame has arrived since it was sent. */
  const frameTo = (place: Place, frame: Buffer) => {
    let seen = 0;
    return {
      lands: place,
      send: () => {
        seen = ground.arrived(place).length;
        ground.send('b', frame);
      },
      shows: () => ground.arrived(place).slice(seen).includes(frame.toString('hex')),
    };
  };

  test.each(['gateway', 'host'] as const)(
    'not by telling the gateway (%s) that it is another sandbox',
    async (place) => {
      const victim = place === 'host' ? hostSide : gateway;
      await expectRefused(ground, groundRuleset(place === 'host' ? 'host' : 'bridge'), {
        send: async () => {
          await sendUdp(ground, 'a', victim.v6, 53, 'hello');
          ground.send('b', neighbourAdvert(b, victim, a.v6, b.mac));
        },
        lands: place,
        shows: async () => (await ground.run(place, ['ip', '-6', 'neighbour', 'show', a.v6])).stdout.includes(b.mac),
        refusedBy: [claims, noPort],
      });
    },
  );

  test('not by telling another sandbox that it is the gateway', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('a', neighbourAdvert(b, a, gateway.v6, b.mac)),
      refusedBy: [claims, elsewhere, noPort, ...between],
    });
  });

  test('not in the name of the gateway or of another sandbox', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('a', neighbourAdvert({ ...b, v6: gateway.v6 }, a, gateway.v6, b.mac)),
      refusedBy: [source, claims, elsewhere, noPort, ...between],
    });
  });

  test('not by giving the MAC of another for its own address', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('gateway', neighbourAdvert(b, gateway, b.v6, a.mac)),
      refusedBy: [claims, noPort],
    });
  });

  test('not in a second option, after one that is right', async () => {
    const right = neighbourAdvert(b, gateway, b.v6, b.mac);
    const two = Buffer.concat([right, Buffer.from('0201', 'hex'), Buffer.from(a.mac.replaceAll(':', ''), 'hex')]);
    two.writeUInt16BE(40, 18);
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('gateway', two),
      refusedBy: [claims, noPort],
    });
  });

  test('it does not even ask for another sandbox', async () => {
    const group = { mac: '33:33:ff:00:00:0a', v6: 'ff02::1:ff00:a' };
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('a', neighbourSolicit(b, group, a.v6)),
      refusedBy: [claims, elsewhere, noPort, ...between],
    });
  });

  test('it is no router', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      ...frameTo('a', routerAdvert(b)),
      refusedBy: [claims, elsewhere, noPort, ...between],
    });
  });
});
