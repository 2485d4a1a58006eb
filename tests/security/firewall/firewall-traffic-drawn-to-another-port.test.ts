// Must not happen: a container tells the bridge, in frames that pass by every filter of it, that the gateway or a sandbox is
// plugged in where it is itself, and reads what they say to each other. (That they do not hear each other it can reach.)
import { afterAll, beforeAll, describe, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { expectRefused } from '../../support/firewall-attack.ts';
import {
  bridge,
  type FirewallGround,
  groundRuleset,
  makeFirewallGround,
  seats,
} from '../../support/firewall-ground.ts';
import { udp6Frame, udpFrame } from '../../support/frames.ts';

const { b, c, gateway } = seats;
const lldp = '01:80:c2:00:00:0e';
const toAnother = ['bridge', 'from a sandbox to another port than that of the gateway'] as const;
const notKnown = ['bridge', 'to this network from a port that is not known'] as const;

describe('what is drawn to the port of another is refused there', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  /** The bridge believes that this MAC is at the port of C. */
  async function draw(mac: string): Promise<void> {
    ground.send('c', udpFrame({ ...c, mac }, { mac: lldp, v4: gateway.v4 }, 9, 'here'));
    await eventually(async () => {
      const { stdout } = await ground.run('host', ['bridge', 'fdb', 'show', 'br', bridge]);
      return stdout.includes(`${mac} dev ${c.port} `);
    }, `${mac} is believed to be at ${c.port}`);
  }

  test.each([
    ['IPv4', udpFrame],
    ['IPv6', udp6Frame],
  ])('what a sandbox says to the gateway, over %s', async (_name, frame) => {
    await expectRefused(ground, groundRuleset('bridge'), {
      async send(mark) {
        await draw(gateway.mac);
        ground.send('b', frame(b, gateway, 53, mark));
      },
      lands: 'c',
      refusedBy: [toAnother, notKnown],
    });
  });

  test('what the gateway answers', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      async send(mark) {
        await draw(b.mac);
        ground.send('gateway', udpFrame(gateway, b, 40_000, mark, { fromPort: 53 }));
      },
      lands: 'c',
      refusedBy: [toAnother, notKnown],
    });
  });
});
