// Some sockets are bound to no network namespace (AF_VSOCK reaches the hypervisor), io_uring opens them in the kernel, and a
// second set of system call numbers names the same calls differently. The filter must see all of it, in every spelling.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

const numbers = {
  x64: { socket: 41, socketpair: 53, keyctl: 250, bpf: 321, perf: 298, handle: 304, fault: 323, log: 103 },
  arm64: { socket: 198, socketpair: 199, keyctl: 219, bpf: 280, perf: 241, handle: 265, fault: 282, log: 116 },
}[process.arch as 'x64' | 'arm64'];

const attempts = `
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
call = json.loads(sys.argv[1])
def attempt(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(a) for a in arguments])
    return 'open' if result >= 0 else errno.errorcode[ctypes.get_errno()]
high = 0xdeadbeef << 32
pair = ctypes.addressof(ctypes.create_string_buffer(8))
ring = ctypes.addressof(ctypes.create_string_buffer(256))
print(json.dumps({
    'families': {str(f): attempt(call['socket'], f, 1, 0) for f in range(46)},
    'vsock with high bits': attempt(call['socket'], high | 40, 1, 0),
    'unix with high bits': attempt(call['socket'], high | 1, 1, 0),
    'pair of unix': attempt(call['socketpair'], 1, 1, 0, pair),
    'pair of vsock': attempt(call['socketpair'], 40, 1, 0, pair),
    'netlink': {str(p): attempt(call['socket'], 16, 3, p) for p in range(24)},
    'io_uring': [attempt(425, 8, ring), attempt(426, 0, 0, 0, 0, 0, 0), attempt(427, 0, 0, 0, 0)],
    'keyctl': attempt(call['keyctl'], 0, (1 << 64) - 4, 0), 'add_key': attempt(call['keyctl'] - 2, 0, 0, 0, 0, 0),
    'bpf': attempt(call['bpf'], 0, 0, 0), 'perf_event_open': attempt(call['perf'], 0, 0, 0, 0, 0),
    'open_by_handle_at': attempt(call['handle'], 0, 0, 0), 'userfaultfd': attempt(call['fault'], 1), 'syslog': attempt(call['log'], 10, 0, 0),
    'raw': attempt(call['socket'], 2, 3, 1),
    'x32': attempt(0x40000000 | call['socket'], 40, 1, 0),
}))
`;

// mov eax, 359 (socket of i386); mov ebx, 40; mov ecx, 1; xor edx, edx; int 0x80; ret
const otherNumbers = `
import ctypes, mmap
code = bytes.fromhex('53' 'b867010000' 'bb28000000' 'b901000000' '31d2' 'cd80' '5b' 'c3')
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
print('got', ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
`;

describe.each([
  { how: 'bubblewrap of root', order: {} },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid } },
  { how: 'namespaces of root', order: { launcher: 'namespaces' } },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' } },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' } },
] as const)('in $how', ({ order }) => {
  test('only sockets of the namespace can be had, and no way into the kernel beside them', async () => {
    const run = await ground.run({
      ...order,
      command: ['/usr/bin/python3', '-c', attempts, JSON.stringify(numbers)],
    });
    const result = JSON.parse(run.stdout);
    const open = Object.entries<string>(result.families).filter(([, answer]) => answer !== 'EAFNOSUPPORT');
    // AF_NETLINK with SOCK_STREAM is no socket there is: it came past the filter, and the kernel knows no such type.
    expect(open).toEqual([
      ['1', 'open'],
      ['2', 'open'],
      ['10', 'open'],
      ['16', 'ESOCKTNOSUPPORT'],
    ]);
    const netlink = Object.entries<string>(result.netlink).filter(([, answer]) => answer === 'open');
    expect(netlink.map(([protocol]) => protocol)).toEqual(['0', '4', '15']);
    expect(result).toMatchObject({
      'vsock with high bits': 'EAFNOSUPPORT',
      'unix with high bits': 'open',
      'pair of unix': 'open',
      'pair of vsock': 'EAFNOSUPPORT',
      io_uring: ['ENOSYS', 'ENOSYS', 'ENOSYS'],
      raw: 'EPERM',
      x32: process.arch === 'x64' ? 'ENOSYS' : expect.any(String),
    });
    for (const name of ['keyctl', 'add_key', 'bpf', 'perf_event_open', 'open_by_handle_at', 'userfaultfd', 'syslog'])
      expect([name, result[name]]).toEqual([name, 'EPERM']);
  });

  // An arm64 processor need not run 32-bit code at all; the program in question is for x86.
  if (process.arch === 'x64')
    test('a program that calls by the numbers of another machine is ended', async () => {
      const run = await ground.run({ ...order, command: ['/usr/bin/python3', '-c', otherNumbers] });
      expect([run.stdout, run.code]).toEqual(['', 128 + 31]);
    });

  test('it can add no link, address or route, nor enter the namespace with more rights', async () => {
    const script = [
      'ip link add dummy0 type dummy; ip link set lo down; ip addr add 192.0.2.9/24 dev lo',
      'ip route del local default dev lo table local; ip route add 198.51.100.0/24 dev lo',
      'nsenter --net=/proc/self/ns/net true; nsenter --user=/proc/1/ns/user true; unshare -Ur ip link set lo down',
      'echo x > /proc/sys/net/ipv4/ip_forward',
    ].join('\n');
    const run = await ground.run({
      ...order,
      door: true,
      command: ['sh', '-c', `${script}\nip -o link; ip -4 route show table local`],
    });
    expect(run.stdout.split('\n').filter((line) => /^\d+:/.test(line))).toEqual([
      expect.stringMatching(/^1: lo: <LOOPBACK,UP/),
    ]);
    expect(run.stdout).toMatch(/^local default dev lo/m);
    expect(run.stdout).not.toMatch(/192\.0\.2|198\.51/);
    expect(run.stderr.match(/not permitted|Invalid argument|denied|Read-only/g)?.length).toBe(9);
  });
});
