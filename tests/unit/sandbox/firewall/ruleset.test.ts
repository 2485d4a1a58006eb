import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FirewallPlan, type Members, tableName } from '../../../../src/sandbox/firewall/firewall-plan.ts';
import { asHex, FirewallError, parsePin } from '../../../../src/sandbox/firewall/pin.ts';
import { families, readMark, writeRuleset } from '../../../../src/sandbox/firewall/ruleset.ts';

const onBridge: FirewallPlan = {
  bridge: 'br-0123456789ab',
  gateway: { v4: '192.0.2.2', v6: '2001:db8::2', at: { port: 'vethgw', mac: '02:00:00:00:00:02' } },
  tcpPorts: [443, 53, 80],
  udpPorts: [53],
  redirect: null,
  seesBridge: true,
};
const onHost: FirewallPlan = {
  ...onBridge,
  gateway: { v4: '192.0.2.1', v6: '2001:db8::1', at: null },
  redirect: { tcpPorts: [80, 443], udpPorts: [53] },
};
const pinA = { address: '192.0.2.10', mac: '02:00:00:00:00:0a', port: 'vetha' };
const pinB = { address: '2001:db8::b', mac: '02:00:00:00:00:0b', port: 'vethb' };
const members: Members = { ports: ['vetha', 'vethb'], pins: [pinA, pinB] };
const plans = [
  onBridge,
  onHost,
  { ...onBridge, gateway: { ...onBridge.gateway, v6: null } },
  { ...onHost, gateway: { ...onHost.gateway, v4: null } },
  { ...onBridge, seesBridge: false },
  { ...onHost, seesBridge: false },
];

describe('the text of a firewall', () => {
  test.each(plans)(
    'every rule counts and says what it is for, in words that no other rule of its table has',
    (plan) => {
      const { text, rules } = writeRuleset(plan, members);
      const lines = text
        .split('\n')
        .filter((line) => / (accept|drop|return|goto \w+|dnat ip6? to \S+)( |$)/.test(line) && !line.includes('hook'));
      expect(lines.length).toBe(rules.bridge.length + rules.inet.length);
      for (const line of lines) expect(line).toMatch(/counter \w.* comment "[^"]+"$/);
      for (const family of families) expect(new Set(rules[family]).size).toBe(rules[family].length);
    },
  );

  test('is the same for the same network, in whatever order and spelling it is told', () => {
    const shuffled = {
      ports: ['vethb', 'vethgw', 'vetha', 'vetha'],
      pins: [{ ...pinB, address: '2001:0DB8:0:0:0:0:0:B', mac: pinB.mac.toUpperCase() }, pinA, pinA],
    };
    expect(writeRuleset({ ...onBridge, tcpPorts: [80, 443, 53, 80] }, shuffled)).toEqual(
      writeRuleset(onBridge, members),
    );
  });

  test('its checksum is that of the rules: other members have the same, other rules another', () => {
    const { checksum, text } = writeRuleset(onBridge, members);
    expect(writeRuleset(onBridge, { ports: [], pins: [] }).checksum).toBe(checksum);
    expect(writeRuleset({ ...onBridge, tcpPorts: [443] }, members).checksum).not.toBe(checksum);
    expect(writeRuleset({ ...onBridge, seesBridge: false }, members).checksum).not.toBe(checksum);
    const marks = [...text.matchAll(/comment "(sallyport [^"]+)"/g)].map(([, mark]) => readMark(mark!));
    expect(marks).toEqual(new Array(4).fill({ bridge: onBridge.bridge, checksum }));
  });

  test('names no table but its own', () => {
    const { text, membersText, table } = writeRuleset(onHost, members);
    for (const [, name] of `${text}${membersText}`.matchAll(/(?:table|set|element) (?:bridge|inet) (\S+)/g))
      expect(name).toBe(table);
  });

  test('where the kernel can tell a bridge, a port that is not known yet is refused at once', () => {
    expect(writeRuleset(onBridge, members).text).toContain(
      'meta ibrname "br-0123456789ab" iifname != @ports counter drop',
    );
    expect(writeRuleset(onBridge, members).text).toContain(
      'meta obrname "br-0123456789ab" oifname != @ports counter drop',
    );
    const blind = writeRuleset({ ...onBridge, seesBridge: false }, members).text;
    expect(blind).not.toMatch(/[io]brname/);
    // There it is told by what it claims: the MACs and addresses of the sandboxes, and of a gateway on the bridge.
    expect(blind).toMatch(
      /set macs \{\s+type ether_addr\s+elements = \{ 02:00:00:00:00:02,\s+02:00:00:00:00:0a,\s+02:00:00:00:00:0b \}/,
    );
    expect(blind).toMatch(/set senders4 \{\s+typeof @nh,112,32\s+elements = \{ 0xc0000202,\s+0xc000020a \}/);
  });

  test('nobody is pinned to what is the gateway', () => {
    for (const pin of [
      { ...pinA, address: '192.0.2.2' },
      { ...pinA, port: 'vethgw' },
    ]) {
      expect(() => writeRuleset(onBridge, { ...members, pins: [pin] })).toThrow(FirewallError);
    }
  });

  test('a plan that makes no sense is refused in words', () => {
    const { at } = onBridge.gateway;
    expect(() => writeRuleset({ ...onBridge, gateway: { v4: null, v6: null, at } }, members)).toThrow('no address');
    expect(() => writeRuleset({ ...onBridge, tcpPorts: [] }, members)).toThrow('no port');
    expect(() => writeRuleset({ ...onBridge, tcpPorts: [0] }, members)).toThrow('is not a port');
    expect(() => writeRuleset({ ...onHost, gateway: onBridge.gateway }, members)).toThrow(
      'only traffic to a gateway on the host',
    );
  });
});

describe('what comes from outside never becomes words of a rule', () => {
  const hostile = fc.string({ unit: fc.constantFrom(...'a0:.";{}\n@= $') });

  test('a pin is refused unless all of it is exactly what it claims to be', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (address, mac, port) => {
        try {
          writeRuleset(onBridge, { ports: [port], pins: [{ address, mac, port }] });
          expect(port).toMatch(/^[a-z0-9.]+$/);
          expect(mac).toMatch(/^[a-f0-9:]{17}$/);
          expect(address).toMatch(/^[a-f0-9:.]+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(FirewallError);
        }
      }),
    );
    for (const port of ['a"', 'a b', 'a\n', 'a;b', '', '-a', 'a{', 'sixteen-letters-']) {
      expect(() => writeRuleset(onBridge, { ports: [port], pins: [] }), port).toThrow(
        'is not the name of an interface',
      );
    }
    expect(() => writeRuleset({ ...onBridge, bridge: 'br0" accept' }, members)).toThrow(FirewallError);
  });

  test.each([
    '192.0.2.10=02:00:00:00:00:0a',
    '192.0.2.10@veth',
    '192.0.2.1x=02:00:00:00:00:0a@veth',
    '192.0.2.0/24=02:00:00:00:00:0a@veth',
    'fe80::1%eth0=02:00:00:00:00:0a@veth',
    '192.0.2.10=01:00:00:00:00:0a@veth',
    '192.0.2.10=02:00:00:00:00@veth',
  ])('%s is no pin', (text) => {
    expect(() => parsePin(text)).toThrow(FirewallError);
  });

  test('a pin is read into its three parts, in one spelling', () => {
    expect(parsePin('2001:DB8:0::A=02:42:AC:1E:00:05@veth1a2b3c')).toEqual({
      address: '2001:db8::a',
      mac: '02:42:ac:1e:00:05',
      port: 'veth1a2b3c',
    });
  });

  test('an address as bare bits has all of them', () => {
    expect(asHex('2001:db8::a')).toBe('0x20010db800000000000000000000000a');
    expect(asHex('::')).toBe(`0x${'0'.repeat(32)}`);
  });

  test('every bridge has a table of its own', () => {
    const names = ['br-a', 'br_a', 'br.a', 'br--a', 'bra'].map(tableName);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^sallyport_\w+$/);
  });
});
