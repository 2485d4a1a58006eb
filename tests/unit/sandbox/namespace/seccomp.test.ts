import { describe, expect, test } from 'vitest';
import { seccompProgram } from '../../../../src/sandbox/namespace/seccomp.ts';

/** Runs a classic BPF program as the kernel would, for one call. Throws when it runs off its end. */
function judge(program: Buffer, call: { arch: number; number: number; args?: readonly bigint[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.arch, 4);
  (call.args ?? []).forEach((value, i) => {
    data.writeBigUInt64LE(value, 16 + 8 * i);
  });
  let word = 0;
  for (let at = 0; at * 8 < program.length; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const jt = program.readUInt8(at * 8 + 2);
    const jf = program.readUInt8(at * 8 + 3);
    const k = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return k;
    if (code === 0x20) word = data.readUInt32LE(k);
    else if (code === 0x15) at += word === k ? jt : jf;
    else if (code === 0x35) at += word >= k ? jt : jf;
    else throw new Error(`no such operation: ${code}`);
  }
  throw new Error('the program has no end');
}

const allow = 0x7fff0000;
const fail = (errno: number): number => 0x00050000 | errno;
const high = 0xffff_ffffn << 32n;

describe.each([
  { machine: 'x64', arch: 0xc000003e, foreign: 0x40000003, socket: 41, socketpair: 53, ioctl: 16, keyctl: 250 },
  { machine: 'arm64', arch: 0xc00000b7, foreign: 0x40000028, socket: 198, socketpair: 199, ioctl: 29, keyctl: 219 },
])('the system call filter for $machine', ({ machine, arch, foreign, socket, socketpair, ioctl, keyctl }) => {
  const program = seccompProgram(machine);
  const verdict = (number: number, ...args: readonly bigint[]) => judge(program, { arch, number, args });

  test('ends a program that calls by the numbers of another machine', () => {
    expect(judge(program, { arch: foreign, number: 1 })).toBe(0x80000000);
  });

  test('lets through Unix and IP sockets and what asks for interfaces, and no other family, whatever the high bits', () => {
    for (let family = 0n; family < 64n; family += 1n) {
      const expected = [1n, 2n, 10n, 16n].includes(family) ? allow : fail(97);
      for (const call of [socket, socketpair]) {
        expect(verdict(call, family, 1n, 0n)).toBe(expected);
        expect(verdict(call, high | family, high | 1n, high)).toBe(expected);
      }
    }
  });

  test('of netlink it lets through routes, socket listings and device events only', () => {
    const open = Array.from({ length: 32 }, (_, i) => BigInt(i)).filter(
      (p) => verdict(socket, 16n, 3n, high | p) === allow,
    );
    expect(open).toEqual([0n, 4n, 15n]);
    expect(verdict(socket, 16n, 3n, 12n)).toBe(fail(93));
  });

  test('refuses to type into the terminal and lets other requests through', () => {
    for (const request of [0x5412n, 0x541cn, 0x5423n]) {
      expect(verdict(ioctl, 0n, request)).toBe(fail(1));
      expect(verdict(ioctl, 0n, high | request)).toBe(fail(1));
    }
    for (const request of [0x5401n, 0x5413n, 0x540fn]) expect(verdict(ioctl, 0n, request)).toBe(allow);
  });

  test('io_uring is not there, the keyring is closed, the rest is allowed', () => {
    for (const number of [425, 426, 427]) expect(verdict(number)).toBe(fail(38));
    expect(verdict(keyctl)).toBe(fail(1));
    for (const number of [0, 56, 101, 165, 172, 435]) expect(verdict(number)).toBe(allow);
  });
});

test('the second set of numbers of x86-64 is not there', () => {
  const program = seccompProgram('x64');
  for (const number of [0x40000000, 0x40000029, 0xffffffff])
    expect(judge(program, { arch: 0xc000003e, number })).toBe(fail(38));
});

test('a machine it is not written for is an error that says what can be done', () => {
  expect(() => seccompProgram('riscv64')).toThrow(expect.objectContaining({ hint: expect.stringContaining('docker') }));
});
