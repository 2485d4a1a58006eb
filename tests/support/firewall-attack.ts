// One attack on a sandbox network, and the rules that refuse it: each is seen to refuse (it counts the packet) while those
// before it are gone, and when the last one is gone the attack must arrive. So a refusal is never a mere silence.
import { expect } from 'vitest';
import type { Ruleset } from '../../src/sandbox/firewall/ruleset.ts';
import { eventually } from './eventually.ts';
import type { FirewallGround, Place } from './firewall-ground.ts';

export type RuleName = readonly [family: 'bridge' | 'inet', comment: string];

export interface Attack {
  /** Sends something that carries the mark. Its own success means nothing. */
  send(mark: string): unknown;
  /** Where it arrives once nothing refuses it. */
  readonly lands: Place;
  /** Whether it has; default: a line there has the mark, as text or in a frame. */
  readonly shows?: (mark: string) => boolean | Promise<boolean>;
  /** In the order in which they meet it. */
  readonly refusedBy: readonly RuleName[];
}

let sent = 0;

export async function expectRefused(ground: FirewallGround, ruleset: Ruleset, attack: Attack): Promise<void> {
  const shows = attack.shows ?? ((mark: string) => hasMark(ground.arrived(attack.lands), mark));
  const nextMark = (): string => {
    sent += 1;
    return `mark-${process.pid}-${sent}-`;
  };
  await ground.reset();
  await ground.load(ruleset.text);
  for (const [family, comment] of attack.refusedBy) {
    const before = await ground.count(family, comment);
    const mark = nextMark();
    await attack.send(mark);
    await eventually(async () => (await ground.count(family, comment)) > before, `refused by: ${comment}`);
    expect(await shows(mark), `it arrived in spite of: ${comment}`).toBe(false);
    await ground.removeRule(family, comment);
  }
  const mark = nextMark();
  await attack.send(mark);
  await eventually(
    async () => shows(mark),
    `it arrives without: ${attack.refusedBy.map(([, name]) => name).join('; ')}`,
  );
}

export function hasMark(arrived: string, mark: string): boolean {
  return arrived.includes(mark) || arrived.includes(Buffer.from(mark).toString('hex'));
}

/** What an ordinary program does: its own kernel finds the way. Ends soon, whether or not anybody answers. */
export function sendUdp(
  ground: FirewallGround,
  from: Place,
  address: string,
  port: number,
  text: string,
): Promise<unknown> {
  return ground.run(from, ['python3', '-c', udpScript, address, String(port), text]);
}

const udpScript = `import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(0.5)
s.sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
try: print(s.recv(2048).decode())
except OSError as e: print(e)`;
