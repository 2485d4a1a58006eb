import { describe, expect, test } from 'vitest';
import { dockerSeccompProfile } from '../../../../src/sandbox/docker/docker-seccomp.ts';

/** As libseccomp decides: the first rule that holds; otherwise the call is allowed. */
function errnoOf(name: string, argument: bigint): number | null {
  for (const rule of dockerSeccompProfile().syscalls) {
    if (!rule.names.includes(name)) continue;
    const holds = (rule.args ?? []).every(({ op, value, valueTwo }) => {
      if (op === 'SCMP_CMP_EQ') return argument === BigInt(value);
      if (op === 'SCMP_CMP_NE') return argument !== BigInt(value);
      if (op === 'SCMP_CMP_GE') return argument >= BigInt(value);
      return (argument & BigInt(value)) === BigInt(valueTwo ?? 0);
    });
    if (holds) return rule.errnoRet;
  }
  return null;
}

describe('the profile of a container', () => {
  test('opens four families of sockets and no other, whatever stands above the 32 bits that count', () => {
    const open = Array.from({ length: 64 }, (_, family) => BigInt(family)).filter((f) => errnoOf('socket', f) === null);
    expect(open).toEqual([1n, 2n, 10n, 16n]);
    for (let family = 0n; family < 64n; family++) expect(errnoOf('socket', (1n << 32n) | family)).toBe(97);
    expect(errnoOf('socket', 0xffff_ffff_ffff_ffffn)).toBe(97);
  });

  test('joins pairs of Unix sockets only', () => {
    expect([errnoOf('socketpair', 1n), errnoOf('socketpair', 40n), errnoOf('socketpair', 2n)]).toEqual([null, 97, 97]);
  });

  test('lets programs fork and make threads, but no namespace', () => {
    const [fork, thread] = [0x0120_0011n, 0x003d_0f00n];
    expect([errnoOf('clone', fork), errnoOf('clone', thread)]).toEqual([null, null]);
    for (const flag of [0x2_0000n, 0x200_0000n, 0x400_0000n, 0x800_0000n, 0x1000_0000n, 0x2000_0000n, 0x4000_0000n])
      expect(errnoOf('clone', fork | flag)).toBe(1);
    expect([errnoOf('clone3', 0n), errnoOf('unshare', 0n), errnoOf('setns', 0n)]).toEqual([38, 1, 1]);
  });

  test('has no two conditions in one rule, which older versions of runc would take one by one', () => {
    for (const { args } of dockerSeccompProfile().syscalls) expect(args?.length ?? 1).toBe(1);
  });
});
