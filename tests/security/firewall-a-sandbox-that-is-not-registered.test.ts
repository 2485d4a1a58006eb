import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectRefused, hasMark } from '../support/firewall-attack.ts';
import { type FirewallGround, groundRuleset, makeFirewallGround, seats } from '../support/firewall-ground.ts';
import { udpFrame } from '../support/frames.ts';

const { a, b, c, gateway, hostSide } = seats;
const source = ['bridge', 'IPv4: the source is not registered with this MAC on this port'] as const;
const services = ['inet', 'host: its own services'] as const;

describe('who is not registered reaches nobody', () => {
  let ground: FirewallGround;
  beforeAll(async () => {
    ground = await makeFirewallGround();
  });
  afterAll(() => ground?.end());

  test('not the gateway, from a port that is known', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('c', udpFrame(c, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [source],
    });
  });

  const withoutC = { ports: ['pa', 'pb', 'pgw'] };

  test('neither the gateway nor a sandbox, from a port that was plugged in a moment ago', async () => {
    for (const [place, victim] of [
      ['gateway', gateway],
      ['a', a],
    ] as const) {
      await expectRefused(ground, groundRuleset('bridge', {}, withoutC), {
        send: (mark) => ground.send('c', udpFrame(c, victim, 53, mark)),
        lands: place,
        refusedBy: [['bridge', 'to this network from a port that is not known']],
      });
    }
  });

  test('nor a gateway on the host, from such a port, also not in a frame for everybody in the name of another', async () => {
    await expectRefused(ground, groundRuleset('host', {}, withoutC), {
      send: (mark) => ground.send('c', udpFrame(c, hostSide, 53, mark)),
      lands: 'host',
      refusedBy: [services],
    });
    await expectRefused(ground, groundRuleset('host', {}, withoutC), {
      send: (mark) => ground.send('c', udpFrame(a, { ...hostSide, mac: 'ff:ff:ff:ff:ff:ff' }, 53, mark)),
      lands: 'host',
      refusedBy: [services],
    });
  });

  test('a sandbox whose registration has ended', async () => {
    await ground.reset();
    await ground.load(groundRuleset('bridge').text);
    ground.send('a', udpFrame(a, gateway, 53, 'while it is registered'));
    await eventually(() => hasMark(ground.arrived('gateway'), 'while it is registered'), 'A speaks to the gateway');

    const onlyB = { pins: [{ address: b.v4, mac: b.mac, port: b.port }] };
    const ended = groundRuleset('bridge', {}, onlyB);
    await ground.load(ended.membersText);
    const before = await ground.count(...source);
    ground.send('a', udpFrame(a, gateway, 53, 'after its end'));
    await eventually(async () => (await ground.count(...source)) > before, 'it is refused');
    expect(hasMark(ground.arrived('gateway'), 'after its end')).toBe(false);

    await expectRefused(ground, ended, {
      send: (mark) => ground.send('a', udpFrame(a, gateway, 53, mark)),
      lands: 'gateway',
      refusedBy: [source],
    });
  });

  test('answers do not reach it either, also where the bridge does not know its port', async () => {
    await expectRefused(ground, groundRuleset('bridge'), {
      send: (mark) => ground.send('gateway', udpFrame(gateway, c, 40_000, mark, { fromPort: 53 })),
      lands: 'c',
      refusedBy: [
        ['bridge', 'from a sandbox to another port than that of the gateway'],
        ['bridge', 'to this network from a port that is not known'],
      ],
    });
  });
});
