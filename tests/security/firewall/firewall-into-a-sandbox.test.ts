import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused, sendUdp } from '../../support/firewall-attack.ts';
import {
  bridge,
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  seats,
} from '../../support/firewall-ground.ts';
import { synFrame, udpFrame } from '../../support/frames.ts';

const { a, c, gateway } = seats;

describe('nobody begins anything with a sandbox', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test('nobody outside', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'outside', a.v4, 53, mark),
      lands: 'a',
      refusedBy: [['inet', 'into this network through the host']],
    });
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'outside', a.v6, 53, mark),
      lands: 'a',
      refusedBy: [['inet', 'into this network through the host']],
    });
  });

  test('not the host', async () => {
    await expectRefused(ground, groundRuleset('host'), {
      send: (mark) => sendUdp(ground, 'host', a.v4, 8022, mark),
      lands: 'a',
      refusedBy: [['inet', 'host: begins nothing with a sandbox']],
    });
  });

  test.each(['bridge', 'host'] as const)(
    'not the host with one that is not registered, with the gateway on the %s',
    async (where) => {
      await expectRefused(ground, groundRuleset(where), {
        send: async (mark) => {
          await ground.run('host', ['ip', 'neighbour', 'replace', c.v4, 'lladdr', c.mac, 'dev', bridge]);
          await sendUdp(ground, 'host', c.v4, 8022, mark);
        },
        lands: 'c',
        refusedBy: [
          ['inet', 'host: begins nothing with a sandbox'],
          ['bridge', 'host: to somebody on this network who is not registered'],
        ],
      });
    },
  );

  test('not the gateway: it answers', async () => {
    const begins = ['bridge', 'gateway: begins nothing with a sandbox'] as const;
    for (const frame of [
      (mark: string) => udpFrame(gateway, a, 8022, mark),
      (mark: string) => synFrame(gateway, a, 443, mark),
    ]) {
      await expectRefused(ground, groundRuleset('bridge'), {
        send: (mark) => ground.send('gateway', frame(mark)),
        lands: 'a',
        refusedBy: [begins],
      });
    }
  });

  test('nobody in the place of the gateway with another MAC', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) =>
        ground.send('gateway', udpFrame({ ...gateway, mac: '02:00:00:00:00:99' }, a, 40_000, mark, { fromPort: 53 })),
      lands: 'a',
      refusedBy: [['bridge', 'gateway: not with its MAC']],
    });
  });
});
