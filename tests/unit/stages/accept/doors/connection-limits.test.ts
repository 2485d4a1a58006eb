import { describe, expect, test } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import type { DoorLimits } from '../../../../../src/policy/compiled-limits.ts';
import { ConnectionLimits } from '../../../../../src/stages/accept/doors/connection-limits.ts';
import type { Arrival, OpenConnection } from '../../../../../src/stages/accept/doors/door-ports.ts';
import { usualLimits } from '../../../../support/hand-made-limits.ts';

const none: DoorLimits = { connections: 0, connectionsPerSecond: 0, dnsPerSecond: 0 };
const registered = ['172.30.0.11', '172.30.0.12'];

function open(own: Partial<DoorLimits>, gateway: Partial<DoorLimits> = {}, meters?: LocalMeters) {
  const state = { nowMs: 0 };
  const records: Arrival[] = [];
  const counted = meters ?? new LocalMeters(() => state.nowMs);
  const limits = { ...none, ...own, gateway: { ...usualLimits.gateway, ...none, ...gateway } };
  const gate = new ConnectionLimits({
    limits: () => limits,
    meters: counted,
    isRegistered: (address) => registered.includes(address),
    record: (arrival) => records.push(arrival),
    now: () => state.nowMs,
  });
  return { gate, state, records, meters: counted };
}

function from(address: string | null, over: Partial<OpenConnection> = {}): OpenConnection {
  const socketOf = address === null ? 'sbx_one' : null;
  return { address, socketOf, sandboxId: null, door: 'proxy', close() {}, destroy() {}, ...over };
}

const faults = (records: readonly Arrival[]) => records.map(({ request }) => request.fault!);

describe('connections at a time', () => {
  test('are counted for each caller: an address, a socket, a certificate', () => {
    const { gate } = open({ connections: 1 });
    for (const one of [from('172.30.0.11'), from('172.30.0.12'), from(null), from('172.30.0.11', { countedAs: 'c' })]) {
      expect(gate.enter(one)).toBe(true);
      const { address, countedAs } = one;
      const again = countedAs === undefined ? from(address) : from(address, { countedAs });
      expect(gate.enter(again)).toBe('limit.connections');
      gate.leave(one);
      expect(gate.enter(again)).toBe(true);
    }
  });

  test('are counted for the gateway, and what one that was refused held is given back', () => {
    const { gate, meters } = open({ connections: 5 }, { connections: 2 });
    const first = from('172.30.0.11');
    expect(gate.enter(first)).toBe(true);
    expect(gate.enter(from('172.30.0.12'))).toBe(true);
    const third = from(null);
    expect(gate.enter(third)).toBe('limit.connections');
    gate.leave(first);
    expect(gate.enter(third)).toBe(true);
    expect(meters.hold('d:socket sbx_one:open', 2)).toBe(0);
    expect(meters.hold('d:socket sbx_one:open', 2)).toBeGreaterThan(0);
  });
});

describe('new connections a second', () => {
  test("two seconds' worth may come at once, then so many a second", () => {
    const { gate, state } = open({ connectionsPerSecond: 5 });
    const come = (count: number) =>
      Array.from({ length: count }, () => gate.enter(from('172.30.0.11'))).filter((one) => one === true).length;
    expect(come(30)).toBe(10);
    expect(gate.enter(from('172.30.0.11'))).toBe('limit.connection-rate');
    expect(gate.enter(from('172.30.0.12'))).toBe(true);
    state.nowMs += 1000;
    expect(come(30)).toBe(5);
  });

  test('a certificate is shown on a connection that the gateway has counted as new already', () => {
    const { gate } = open({}, { connectionsPerSecond: 1 });
    for (let i = 0; i < 10; i++) expect(gate.enter(from('172.30.0.11', { countedAs: 'certificate one' }))).toBe(true);
    for (let i = 0; i < 2; i++) expect(gate.enter(from('172.30.0.11'))).toBe(true);
    expect(gate.enter(from('172.30.0.11'))).toBe('limit.connection-rate');
  });
});

describe('a connection that has proven whose it is', () => {
  const shared = '198.51.100.7';
  /** One more from the shared address, of this sandbox. */
  function come(gate: ConnectionLimits, sandbox: string | null) {
    const connection = from(shared);
    const opening = gate.enter(connection);
    return opening === true && sandbox !== null ? gate.identified(connection, sandbox) : opening;
  }

  test('is counted for its sandbox, and for the address no more', () => {
    const { gate, records } = open({ connections: 2 }, { connections: 100 });
    expect([1, 2, 3].map(() => come(gate, 'greedy'))).toEqual([true, true, 'limit.connections']);
    expect([1, 2].map(() => come(gate, 'other'))).toEqual([true, true]);
    expect([1, 2, 3].map(() => come(gate, null))).toEqual([true, true, 'limit.connections']);
    expect(faults(records).map(({ message }) => message)).toEqual([
      expect.stringContaining('of a sandbox turned away'),
      expect.stringContaining('of addresses that are not registered turned away'),
    ]);
  });

  test('nor is it a new one of that address', () => {
    const { gate } = open({ connectionsPerSecond: 2 }, { connectionsPerSecond: 100 });
    const greedy = Array.from({ length: 10 }, () => come(gate, 'greedy'));
    expect(greedy.slice(3)).toEqual([true, ...new Array(6).fill('limit.connection-rate')]);
    expect(come(gate, 'other')).toBe(true);
    expect([1, 2, 3, 4, 5].map(() => come(gate, null))).toEqual([true, true, true, true, 'limit.connection-rate']);
  });

  test('gives back what it has when it leaves, once', () => {
    const { gate, meters } = open({ connections: 2 }, { connections: 100 });
    const connection = from(shared);
    expect(gate.enter(connection)).toBe(true);
    expect(gate.identified(connection, 'one')).toBe(true);
    expect(gate.identified(connection, 'one')).toBe(true);
    expect(meters.hold('d:sandbox one:open', 2)).toBe(0);
    expect(meters.hold('d:sandbox one:open', 2)).toBeGreaterThan(0);
    gate.leave(connection);
    expect(meters.hold('d:sandbox one:open', 2)).toBe(0);
    for (const key of ['d:sandbox one:open', 'd:sandbox one:open']) meters.release(key);
    expect(meters.size).toBe(0);
  });

  test('and is gone before that was counted elsewhere: its place comes back', async () => {
    const meters = new LocalMeters(() => 0);
    const slow = Object.create(meters, {
      hold: { value: (key: string, limit: number) => Promise.resolve().then(() => meters.hold(key, limit)) },
      release: { value: (key: string) => meters.release(key) },
      take: { value: (key: string, rate: { perSecond: number; burst: number }) => meters.take(key, rate) },
      spend: { value: () => {} },
    }) as LocalMeters;
    const { gate } = open({ connections: 1 }, { connections: 100 }, slow);
    for (let i = 0; i < 3; i++) {
      const connection = from(shared);
      expect(await gate.enter(connection)).toBe(true);
      const opening = gate.identified(connection, 'one');
      gate.leave(connection);
      await opening;
    }
    expect(meters.size).toBe(0);
  });

  test('and below another one, which is counted in its place, costs its address nothing either', () => {
    const { gate } = open({ connections: 1, connectionsPerSecond: 1 }, { connections: 100 });
    for (let i = 0; i < 20; i++) {
      const handshake = from(shared);
      expect(gate.enter(handshake)).toBe(true);
      expect(gate.identified(handshake, null)).toBe(true);
      gate.leave(handshake);
    }
  });
});

describe('addresses that are not registered', () => {
  test('have half of the gateway together, however many they are, and leave the rest to those who are', () => {
    const { gate } = open({ connections: 3, connectionsPerSecond: 100 }, { connections: 20, connectionsPerSecond: 10 });
    const strangers = Array.from({ length: 200 }, (_, i) => gate.enter(from(`198.51.100.${i}`)));
    expect(strangers.filter((one) => one === true)).toHaveLength(10);
    const known = Array.from({ length: 3 }, () => gate.enter(from('172.30.0.11')));
    expect(known).toEqual([true, true, true]);
  });

  test('each of them has no more than a sandbox has', () => {
    const { gate } = open({ connections: 2 }, { connections: 20 });
    const one = Array.from({ length: 5 }, () => gate.enter(from('198.51.100.1')));
    expect(one.filter((opening) => opening === true)).toHaveLength(2);
  });

  test('share nothing with the same address at another gateway', () => {
    const meters = new LocalMeters(() => 0);
    const make = (gateway: string) =>
      new ConnectionLimits({
        limits: () => ({ ...none, connections: 1, gateway: { ...usualLimits.gateway, ...none } }),
        meters,
        isRegistered: () => true,
        gateway,
        record: () => {},
      });
    expect([make('a').enter(from('172.30.0.11')), make('b').enter(from('172.30.0.11'))]).toEqual([true, true]);
  });
});

describe('a flood is one record a minute for each caller', () => {
  test('with the limit by name and how many there were', () => {
    const { gate, state, records } = open({ connections: 1 }, { connections: 100 });
    expect(gate.enter(from('172.30.0.11'))).toBe(true);
    expect(gate.enter(from('172.30.0.12'))).toBe(true);
    for (let i = 0; i < 50; i++) expect(gate.enter(from('172.30.0.11'))).toBe('limit.connections');
    expect(gate.enter(from('172.30.0.12'))).toBe('limit.connections');
    expect(faults(records)).toMatchObject([{ rule: 'limits.connections' }, { rule: 'limits.connections' }]);
    expect(records.map(({ caller }) => caller.address)).toEqual(['172.30.0.11', '172.30.0.12']);
    state.nowMs += 60_000;
    expect(gate.enter(from('172.30.0.11'))).toBe('limit.connections');
    expect(faults(records).at(-1)!.message).toBe(
      '50 connections of a sandbox turned away since the last record: 1 connections are open already',
    );
  });

  test('strangers have one for all of them', () => {
    const { gate, records } = open({}, { connectionsPerSecond: 1 });
    const answers = Array.from({ length: 200 }, (_, i) => gate.enter(from(`198.51.100.${i}`)));
    expect(answers.at(-1)).toBe('limit.connection-rate');
    expect(faults(records)).toMatchObject([
      { code: 'limit.connection-rate', rule: 'limits.gateway.connections_per_second' },
    ]);
  });
});

describe('meters that must ask elsewhere', () => {
  test('decide the same, later', async () => {
    const meters = new LocalMeters(() => 0);
    const hold = meters.hold.bind(meters);
    meters.hold = ((key: string, limit: number) => Promise.resolve(hold(key, limit))) as never;
    const { gate } = open({ connections: 2 }, { connections: 1 }, meters);
    const first = from('172.30.0.11');
    expect(await gate.enter(first)).toBe(true);
    expect(await gate.enter(from('172.30.0.11'))).toBe('limit.connections');
    gate.leave(first);
    expect(await gate.enter(from('172.30.0.11'))).toBe(true);
  });
});
