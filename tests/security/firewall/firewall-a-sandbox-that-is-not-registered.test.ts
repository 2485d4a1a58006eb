// Must not happen: a container that nobody registered reaches the gateway, a service of the host or a sandbox.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kernelSeesBridges } from '../../../src/sandbox/firewall/nft.ts';
import { eventually } from '../../support/eventually.ts';
import { expectRefused, hasMark } from '../../support/firewall-attack.ts';
import { type FirewallGround, groundRuleset, makeFirewallGround, seats } from '../../support/firewall-ground.ts';
import { udpFrame } from '../../support/frames.ts';

const { a, b, c, gateway, hostSide } = seats;
const source = ['bridge', 'IPv4: the source is not registered with this MAC on this port'] as const;
const services = ['inet', 'host: its own services'] as const;
const unknownPort = ['bridge', 'from a port of the bridge that is not known yet'] as const;
/** What a frame in the name of another meets before that, one behind the other. */
const claims = [
  ['bridge', 'unknown port: with the MAC of another'],
  ['bridge', 'unknown port: with the IPv4 address of another'],
] as const;

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

  // A kernel that can tell the bridge by its name refuses the port; any kernel can be held to the rules for one that cannot.
  test('nor a gateway on the host, from such a port, also not in a frame for everybody in the name of another', async () => {
    const situations = (await kernelSeesBridges()) ? [false, true] : [false];
    for (const seesBridge of situations) {
      const ruleset = groundRuleset('host', { seesBridge }, withoutC);
      await expectRefused(ground, ruleset, {
        send: (mark) => ground.send('c', udpFrame(c, hostSide, 53, mark)),
        lands: 'host',
        refusedBy: seesBridge ? [unknownPort, services] : [services],
      });
      await expectRefused(ground, ruleset, {
        send: (mark) => ground.send('c', udpFrame(a, { ...hostSide, mac: 'ff:ff:ff:ff:ff:ff' }, 53, mark)),
        lands: 'host',
        refusedBy: seesBridge ? [unknownPort, services] : [...claims, services],
      });
    }
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
