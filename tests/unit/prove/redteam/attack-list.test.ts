import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { attackList } from '../../../../src/prove/redteam/attack-list.ts';
import { judgeLines } from '../../../../src/prove/redteam/attacks/kernel-attack.ts';
import { plantBaits } from '../../../../src/prove/redteam/plant-baits.ts';
import { facts, ground, observation } from '../doctor/facts.ts';

/** What is there outside, so that the only thing unknown is what happened inside. */
const root = mkdtempSync(join(tmpdir(), 'sallyport-attacks-'));
const home = join(root, 'home');
const gatewayHome = join(root, 'state');
const { baits } = plantBaits(home, join(root, 'credentials'));
for (const name of ['journal/000001.jsonl', 'registry.json', 'run/admin.sock']) {
  mkdirSync(join(gatewayHome, name, '..'), { recursive: true });
  writeFileSync(join(gatewayHome, name), '');
}
const planted = { ...ground, home, gatewayHome, baits, sockets: { docker: root, 'ssh-agent': root } };

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the list of attacks', () => {
  test('has at least forty, each under a name of its own that can be typed', () => {
    const names = attackList.map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(40);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))).toEqual([]);
  });

  test('covers what the door promises', () => {
    expect([...new Set(attackList.map(({ area }) => area))]).toEqual([
      'environment',
      'files',
      'processes',
      'neighbours',
      'sockets',
      'kernel',
      'network',
      'names',
      'requests',
      'credentials',
      'git',
      'github',
      'evidence',
    ]);
  });

  test.each(attackList.map((attack) => [attack.name, attack] as const))(
    '%s: an attempt of which nothing is known is never held',
    (name, attack) => {
      const silence = Array.from({ length: 12 }, () => observation({ error: 'no answer' }));
      const { verdict } = attack.judge(facts({ ground: planted, observed: silence, control: silence }));
      expect(`${name} ${verdict}`).toBe(`${name} unproven`);
    },
  );
});

describe('what a program printed about the kernel', () => {
  const attack = { name: 'x', tried: 'x', errors: ['EPERM', 'EAFNOSUPPORT'], because: 'why', permitted: ['EINVAL'] };
  const filtered = observation({ text: 'Name:\tnode\nSeccomp:\t2\n' });
  const verdict = (text: string, status = filtered) =>
    judgeLines(facts({ observed: [observation({ text }), status] }), attack).verdict;

  test('counts only when the same means works where it is allowed', () => {
    expect(verdict('control: ok\nattempt: EPERM\n')).toBe('held');
    expect(verdict('control: EPERM\nattempt: EPERM\n')).toBe('unproven');
    expect(verdict('attempt: EPERM\n')).toBe('unproven');
    expect(verdict('control: ok\n')).toBe('unproven');
  });

  test('is a hole when the kernel did it, or would have', () => {
    expect(verdict('control: ok\nattempt a: EPERM\nattempt b: ok\n')).toBe('hole');
    expect(verdict('control: ok\nattempt: EINVAL\n')).toBe('hole');
  });

  test('that it has no such thing is ours only where a filter is in force', () => {
    expect(verdict('control: ok\nattempt: EAFNOSUPPORT\n')).toBe('held');
    expect(verdict('control: ok\nattempt: EAFNOSUPPORT\n', observation({ text: 'Seccomp:\t0\n' }))).toBe('unproven');
  });
});
