import { describe, expect, test } from 'vitest';
import { LocalMeters } from '../../../../../src/gateway/store/local-meters.ts';
import { ConnectionLimits } from '../../../../../src/stages/accept/doors/connection-limits.ts';
import type { Arrival, OpenConnection } from '../../../../../src/stages/accept/doors/door-ports.ts';
import { usualLimits } from '../../../../support/hand-made-limits.ts';

const sandbox = '10.0.0.1';

function gateWith(room: number): { gate: ConnectionLimits; recorded: Arrival[] } {
  const recorded: Arrival[] = [];
  const gate = new ConnectionLimits({
    limits: () => ({ ...usualLimits, connections: 3 }),
    meters: new LocalMeters(() => 0),
    isRegistered: (address) => address === sandbox || address === '10.0.0.2',
    room,
    record: (arrival) => recorded.push(arrival),
  });
  return { gate, recorded };
}

function from(address: string): OpenConnection {
  return { sandboxId: null, address, socketOf: null, close: () => {}, destroy: () => {} };
}

describe('a process has room for so many connections, whatever the policy allows', () => {
  test('the one more is turned away and recorded with what to raise, and comes in when another has gone', () => {
    const { gate, recorded } = gateWith(4);
    const open = [from(sandbox), from(sandbox), from('10.0.0.2'), from('10.0.0.2')];
    expect(open.map((one) => gate.enter(one))).toEqual([true, true, true, true]);
    expect(gate.enter(from('10.0.0.2'))).toBe('limit.connections');
    expect(recorded.map(({ request }) => request.fault?.hint)).toEqual([expect.stringContaining('ulimit -n')]);
    gate.leave(open[0]!);
    expect(gate.enter(from('10.0.0.2'))).toBe(true);
  });

  test('half of it is for those who are registered', () => {
    const { gate } = gateWith(4);
    const strangers = ['10.9.0.1', '10.9.0.2', '10.9.0.3'].map((address) => gate.enter(from(address)));
    expect(strangers).toEqual([true, true, 'limit.connections']);
    expect([gate.enter(from(sandbox)), gate.enter(from(sandbox))]).toEqual([true, true]);
  });

  test('who is refused by a limit takes no room, and who leaves twice gives back once', () => {
    const { gate } = gateWith(4);
    const open = [from(sandbox), from(sandbox), from(sandbox)];
    expect(open.map((one) => gate.enter(one))).toEqual([true, true, true]);
    for (let i = 0; i < 5; i++) expect(gate.enter(from(sandbox))).toBe('limit.connections');
    expect(gate.enter(from('10.0.0.2'))).toBe(true);
    gate.leave(open[0]!);
    gate.leave(open[0]!);
    expect([gate.enter(from('10.0.0.2')), gate.enter(from('10.0.0.2'))]).toEqual([true, 'limit.connections']);
  });
});
