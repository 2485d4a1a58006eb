import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectRefused, hasMark, sendUdp } from '../../support/firewall-attack.ts';
import { type FirewallGround, groundRuleset, makeFirewallGround, seats } from '../../support/firewall-ground.ts';
import { arpFrame } from '../../support/frames.ts';

const { a, b, gateway, hostSide } = seats;
const sender = ['bridge', 'ARP: the sender is not registered with this address on this port'] as const;
const ownMac = ['bridge', 'ARP: it gives a MAC that is not its own'] as const;
const about = ['bridge', 'ARP: about another than the gateway'] as const;
const between = [
  ['bridge', 'from a sandbox to another port than that of the gateway'],
  ['bridge', 'to this network from a port that is not known'],
] as const;

describe('a sandbox does not lead the traffic of another to itself by ARP', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  /** Whether a machine now sends to B what is for A. */
  const believesThatAisB = async (place: 'gateway' | 'host'): Promise<boolean> =>
    (await ground.run(place, ['ip', 'neighbour', 'show', a.v4])).stdout.includes(b.mac);

  test.each(['gateway', 'host'] as const)(
    'not by telling the gateway (%s) that it is another sandbox',
    async (place) => {
      const victim = place === 'host' ? hostSide : gateway;
      const lie = arpFrame({
        frameFrom: b.mac,
        frameTo: victim.mac,
        operation: 'reply',
        senderMac: b.mac,
        senderIp: a.v4,
        targetIp: victim.v4,
      });
      await expectRefused(ground, groundRuleset(place === 'host' ? 'host' : 'bridge'), {
        send: async () => {
          // The gateway knows A, as it does when A works with it; a neighbour it does not know, it does not take over.
          await sendUdp(ground, 'a', victim.v4, 53, 'hello');
          ground.send('b', lie);
        },
        lands: place,
        shows: () => believesThatAisB(place),
        refusedBy: [sender, ownMac],
      });
    },
  );

  test('not by telling another sandbox that it is the gateway', async () => {
    const lie = arpFrame({
      frameFrom: b.mac,
      frameTo: a.mac,
      operation: 'reply',
      senderMac: b.mac,
      senderIp: gateway.v4,
      targetIp: a.v4,
    });
    let seen = 0;
    await expectRefused(ground, groundRuleset('bridge'), {
      send: () => {
        seen = ground.arrived('a').length;
        ground.send('b', lie);
      },
      lands: 'a',
      shows: () => ground.arrived('a').slice(seen).includes(lie.toString('hex')),
      refusedBy: [sender, ownMac, about, ...between],
    });
  });

  test('not by giving the MAC of another for its own address', async () => {
    const lie = arpFrame({
      frameFrom: b.mac,
      operation: 'request',
      senderMac: a.mac,
      senderIp: b.v4,
      targetIp: gateway.v4,
    });
    let seen = 0;
    await expectRefused(ground, groundRuleset('bridge'), {
      send: () => {
        seen = ground.arrived('gateway').length;
        ground.send('b', lie);
      },
      lands: 'gateway',
      shows: () => ground.arrived('gateway').slice(seen).includes(lie.toString('hex')),
      refusedBy: [ownMac],
    });
  });

  test('it does not even ask for another sandbox', async () => {
    const question = (mark: string) =>
      Buffer.concat([
        arpFrame({ frameFrom: b.mac, operation: 'request', senderMac: b.mac, senderIp: b.v4, targetIp: a.v4 }),
        Buffer.from(mark),
      ]);
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', question(mark)),
      lands: 'a',
      shows: (mark) => hasMark(ground.arrived('a'), mark),
      refusedBy: [about, ...between],
    });
  });

  test('ARP of another kind than question and answer is refused', async () => {
    const reverse = arpFrame({
      frameFrom: b.mac,
      operation: 'request',
      senderMac: b.mac,
      senderIp: b.v4,
      targetIp: gateway.v4,
    });
    reverse.writeUInt16BE(3, 20);
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('b', Buffer.concat([reverse, Buffer.from(mark)])),
      lands: 'gateway',
      refusedBy: [['bridge', 'ARP: of another kind']],
    });
  });
});
