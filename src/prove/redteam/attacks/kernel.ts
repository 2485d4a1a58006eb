// Attacks on the kernel's walls: sockets past the network, calls that open side doors, mounts, identities, nested namespaces.
import type { Attack, AttackFinding, Facts } from '../attack.ts';
import { held, hole, stoppedByKernel, succeeds, unproven } from '../judge.ts';
import { kernelAttack, linesOf, python, pythonRuns } from './kernel-attack.ts';

const filtered = 'refused by the system-call filter or for want of capabilities';
/** The kernel looked at the arguments: it would have done it with better ones. */
const looked = ['EFAULT', 'EINVAL', 'EBADF'];

/** One call by its number, with arguments that would be wrong: only a filter says so before the kernel looks at them. */
function callAttack(name: string, tried: string, call: string, args: string, errors: readonly string[]): Attack {
  return kernelAttack({
    name,
    tried,
    errors,
    permitted: looked,
    because: filtered,
    code: () => `say('control', call('getpid'))\nsay('attempt', call('${call}', ${args}))\n`,
  });
}

function socketAttack(
  name: string,
  tried: string,
  sockets: string,
  errors: readonly string[],
  because: string,
): Attack {
  return kernelAttack({
    name,
    tried,
    errors,
    because,
    code: () => `
import socket
attempt('control', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close())
for family, kind, number in ${sockets}:
    attempt('attempt %d' % family, lambda: socket.socket(family, kind, number).close())
`,
  });
}

/** In a nested user namespace the attacker has every capability over what is new there, and must have none over the rest. */
const nested = (flags: string) => `
import socket, struct
uid, gid = os.getuid(), os.getgid()
say('nested', libc.unshare(${flags}))
`;

/** Either it may not nest at all, or nesting gives nothing. */
function judgeNested({ observed }: Facts, errors: readonly string[], because: string): AttackFinding {
  const text = observed[0]?.text ?? '';
  const lines = linesOf(text);
  const nesting = lines.find(([name]) => name === 'nested')?.[1];
  if (nesting === undefined) return unproven(`nothing was tried: ${text.slice(0, 80)}`);
  if (nesting !== 'ok') return held(`${nesting}: no nested namespaces`);
  const attempts = lines.filter(([name]) => name.startsWith('attempt'));
  const words = attempts.map(([name, word]) => `${name.slice('attempt'.length).trim()} ${word}`.trim()).join(', ');
  if (attempts.length === 0) return unproven('nothing was tried inside the nested namespace');
  if (attempts.some(([, word]) => word === 'ok')) return hole(`in a nested namespace: ${words}`);
  if (attempts.some(([, word]) => !errors.includes(word))) return unproven(`in a nested namespace: ${words}`);
  return held(`in a nested namespace ${words}: ${because}`);
}

function nestedAttack(name: string, tried: string, code: string, errors: readonly string[], because: string): Attack {
  return {
    name,
    area: 'kernel',
    tried,
    needs: ['python3'],
    control: pythonRuns,
    attempt: () => [python(code)],
    judge: (facts) => judgeNested(facts, errors, because),
  };
}

/** CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS. */
const newUser = '0x10000000';
const newNet = '0x40000000';
const newMounts = '0x00020000';

export const kernelAttacks: readonly Attack[] = [
  socketAttack('socket-packet', 'a packet socket (AF_PACKET)', '[(17, 3, 0)]', ['EAFNOSUPPORT', 'EPERM'], filtered),
  socketAttack('socket-raw', 'raw sockets over IPv4 and IPv6', '[(2, 3, 1), (10, 3, 58)]', ['EPERM'], filtered),
  socketAttack('socket-vsock', 'a socket to the hypervisor (AF_VSOCK)', '[(40, 1, 0)]', ['EAFNOSUPPORT'], filtered),
  socketAttack(
    'socket-families',
    'sockets of other families: Bluetooth, crypto, CAN, XDP, TIPC',
    '[(31, 3, 1), (38, 5, 0), (29, 3, 1), (44, 3, 0), (30, 4, 0)]',
    ['EAFNOSUPPORT', 'EPERM'],
    filtered,
  ),
  callAttack('call-io-uring', 'sockets past the filter by io_uring', 'io_uring_setup', '1, 0', ['ENOSYS', 'EPERM']),
  kernelAttack({
    name: 'call-keyring',
    tried: "the user's kernel keyring",
    errors: ['EPERM', 'ENOSYS'],
    because: filtered,
    code: () => `
say('control', call('getpid'))
say('attempt keyctl', call('keyctl', 0, -4, 0))
say('attempt add_key', call('add_key', b'user', b'redteam', b'x', 1, -2))
say('attempt request_key', call('request_key', b'user', b'redteam', 0, 0))
`,
  }),
  kernelAttack({
    name: 'call-dangerous',
    tried: 'bpf, perf_event_open, userfaultfd, open_by_handle_at, kexec_load, init_module',
    errors: ['EPERM', 'ENOSYS', 'EACCES'],
    permitted: looked,
    because: filtered,
    code: () => `
say('control', call('getpid'))
for name in ['bpf', 'perf_event_open', 'userfaultfd', 'open_by_handle_at', 'kexec_load', 'init_module']:
    say('attempt ' + name, call(name, 0, 0, 0, 0, 0))
`,
  }),
  kernelAttack({
    name: 'terminal-injection',
    tried: 'typing into the terminal of the user (TIOCSTI, TIOCLINUX, with high bits set)',
    errors: ['EPERM'],
    because: 'refused by the system-call filter',
    code: () => `
import fcntl, pty, struct, termios
reader, writer = os.pipe()
child, master = pty.fork()
if child == 0:
    os.dup2(writer, 1)
    attempt('control', lambda: fcntl.ioctl(0, termios.TIOCGWINSZ, b'12345678'))
    byte = ctypes.create_string_buffer(b'x')
    for name, request in [('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541c), ('high', 0x100005412)]:
        say('attempt ' + name, call('ioctl', ctypes.c_long(0), ctypes.c_ulong(request), byte))
    os._exit(0)
os.waitpid(child, 0)
os.write(1, os.read(reader, 4096))
`,
  }),
  kernelAttack({
    name: 'mount-change',
    tried: 'mounting, unmounting and making the system writable',
    errors: ['EPERM'],
    permitted: ['ENODEV', 'EINVAL'],
    because: 'no capability over mounts',
    code: () => `
say('control', call('getpid'))
say('attempt mount', libc.mount(b'none', b'/', b'no-such-file-system', 0, None))
say('attempt umount', libc.umount2(b'/proc/self/status', 2))
say('attempt remount', libc.mount(b'none', b'/proc/self/status', None, 0x1021, None))
`,
  }),
  kernelAttack({
    name: 'become-root',
    tried: 'becoming root: setuid, setgid, chroot, mknod of a disk',
    errors: ['EPERM', 'EINVAL'],
    because: 'no capability and no other identity to take',
    code: () => `
attempt('control', lambda: os.setuid(os.getuid()))
other = 0 if os.getuid() != 0 else 12345
def make_disk():
    os.mknod('redteam-disk', 0o60600, os.makedev(8, 0))
    os.unlink('redteam-disk')
attempt('attempt mknod', make_disk)
attempt('attempt chroot', lambda: os.chroot('/tmp'))
attempt('attempt setgid', lambda: os.setgid(0 if os.getgid() != 0 else 12345))
attempt('attempt setuid', lambda: os.setuid(other))
`,
  }),
  {
    name: 'gain-privileges',
    area: 'kernel',
    tried: 'gaining rights from setuid programs, or having any capability',
    control: succeeds('the own status is read', () => [{ do: 'read', path: '/proc/self/status' }]),
    attempt: () => [{ do: 'read', path: '/proc/self/status' }],
    judge({ observed: [status] }) {
      const field = (name: string): string =>
        new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status?.text ?? '')?.[1] ?? '';
      if (field('NoNewPrivs') === '' || field('CapEff') === '') return unproven('the status does not say');
      if (field('NoNewPrivs') !== '1') return hole('setuid programs still give rights (NoNewPrivs 0)');
      if (/[^0]/.test(field('CapEff'))) return hole(`capabilities are left: ${field('CapEff')}`);
      return held('NoNewPrivs 1, no capability');
    },
  },
  {
    name: 'kernel-settings',
    area: 'kernel',
    tried: 'opening settings of the kernel for writing: core_pattern, modprobe, sysrq, ip_forward, cgroups',
    control: succeeds('a setting of the own process is opened for writing', () => [
      { do: 'open', path: '/proc/self/comm', flags: 'r+' },
    ]),
    attempt: () => [
      { do: 'open', path: '/proc/sys/kernel/core_pattern', flags: 'r+' },
      { do: 'open', path: '/proc/sys/kernel/modprobe', flags: 'r+' },
      { do: 'open', path: '/proc/sysrq-trigger', flags: 'r+' },
      { do: 'open', path: '/proc/sys/net/ipv4/ip_forward', flags: 'r+' },
      { do: 'open', path: '/sys/fs/cgroup/cgroup.procs', flags: 'r+' },
    ],
    judge: (facts) =>
      stoppedByKernel(facts, ['EROFS', 'EACCES', 'EPERM', 'ENOENT'], 'not writable inside, or not there'),
  },
  nestedAttack(
    'nested-network',
    'a nested user and network namespace as a way out',
    `${nested(`${newUser} | ${newNet}`)}
names = ' '.join(name for _, name in socket.if_nameindex())
print('attempt interfaces: ' + ('ENODEV' if names in ('', 'lo') else names))
attempt('attempt connect', lambda: socket.create_connection(('203.0.113.5', 443), 2))
`,
    ['ENODEV', 'ENETUNREACH'],
    'it has no interface and no route',
  ),
  nestedAttack(
    'nested-capabilities',
    'capabilities of a nested user namespace over the network of the sandbox',
    `${nested(newUser)}
attempt('attempt raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
def add_link():
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    body = struct.pack('=BxHiII', 0, 0, 0, 0, 0) + struct.pack('=HH6s', 10, 3, b'rt0\\0\\0\\0') + b'\\0\\0'
    kind = struct.pack('=HH8s', 10, 1, b'dummy\\0\\0\\0')
    body += struct.pack('=HH', 4 + 12, 18) + kind
    netlink.send(struct.pack('=IHHII', 16 + len(body), 16, 0x605, 1, 0) + body)
    code = struct.unpack('=i', netlink.recv(4096)[16:20])[0]
    if code != 0:
        raise OSError(-code, 'refused')
attempt('attempt link', add_link)
`,
    ['EPERM', 'EACCES'],
    'they do not reach the network namespace',
  ),
  nestedAttack(
    'nested-mounts',
    'undoing masks and read-only mounts in a nested mount namespace',
    `${nested(`${newUser} | ${newMounts}`)}
say('attempt remount', libc.mount(b'none', b'/usr', None, 0x1020, None))
say('attempt unmask', libc.umount2(b'/etc/passwd', 2))
say('attempt umount', libc.umount2(b'/usr', 2))
`,
    ['EPERM', 'EINVAL', 'EACCES'],
    'the mounts are locked',
  ),
];
