// The system calls that a sandbox in a container does without, as a profile for `docker --security-opt seccomp=`. Docker's
// own profile is not relied on: up to 20.10 it allows AF_VSOCK, which no network namespace holds, and io_uring, which opens
// sockets past any filter; and a daemon may be set to have none at all.

interface Condition {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_NE' | 'SCMP_CMP_GE' | 'SCMP_CMP_MASKED_EQ';
}

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ERRNO';
  readonly errnoRet: number;
  readonly args?: readonly Condition[];
}

export interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ALLOW';
  readonly syscalls: readonly Rule[];
}

const [eperm, enosys, eafnosupport] = [1, 38, 97];

/** Without a list of architectures: only the machine's own. A call by way of another (i386, x32) ends the program. */
export function dockerSeccompProfile(): SeccompProfile {
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [
      deny(eperm, forbidden),
      deny(enosys, missing),
      ...closedFamilies().map((condition) => deny(eafnosupport, ['socket'], condition)),
      deny(eafnosupport, ['socketpair'], { index: 0, value: 1, op: 'SCMP_CMP_NE' }),
      ...namespaceFlags.map((flag) =>
        deny(eperm, ['clone'], { index: 0, value: flag, valueTwo: flag, op: 'SCMP_CMP_MASKED_EQ' }),
      ),
    ],
  };
}

function deny(errnoRet: number, names: readonly string[], condition?: Condition): Rule {
  return { names, action: 'SCMP_ACT_ERRNO', errnoRet, ...(condition === undefined ? {} : { args: [condition] }) };
}

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const openFamilies = [1, 2, 10, 16];

/**
 * One rule each: conditions on one argument cannot be joined in one. Compared as 64 bits, while the kernel takes the low
 * 32: whatever is set above them falls to the last rule.
 */
function closedFamilies(): readonly Condition[] {
  const last = Math.max(...openFamilies);
  const below = Array.from({ length: last }, (_, family) => family).filter((family) => !openFamilies.includes(family));
  return [
    ...below.map((value): Condition => ({ index: 0, value, op: 'SCMP_CMP_EQ' })),
    { index: 0, value: last + 1, op: 'SCMP_CMP_GE' },
  ];
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const namespaceFlags = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/** Programs know how to do without: clone3 hides its flags from a filter, io_uring what it is asked to do. */
const missing = ['clone3', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'];

const forbidden = [
  // Namespaces, mounts and roots: with a user namespace of its own the sandbox would have capabilities in it.
  ...[
    'unshare',
    'setns',
    'mount',
    'umount',
    'umount2',
    'pivot_root',
    'chroot',
    'fsopen',
    'fsconfig',
    'fsmount',
    'fspick',
  ],
  ...['open_tree', 'open_tree_attr', 'move_mount', 'mount_setattr', 'open_by_handle_at', 'name_to_handle_at'],
  // The keyring of the user, which no namespace holds.
  ...['add_key', 'request_key', 'keyctl'],
  // Ways into the kernel, or to look at it and at other processes.
  ...['bpf', 'perf_event_open', 'userfaultfd', 'kcmp', 'pidfd_getfd', 'lookup_dcookie', 'syslog', 'fanotify_init'],
  ...['init_module', 'finit_module', 'delete_module', 'create_module', 'get_kernel_syms', 'query_module'],
  ...['kexec_load', 'kexec_file_load', 'reboot', 'iopl', 'ioperm', 'vm86', 'vm86old', 'modify_ldt', 'uselib'],
  // The machine's own settings.
  ...['settimeofday', 'stime', 'clock_settime', 'clock_settime64', 'sethostname', 'setdomainname', 'acct', 'vhangup'],
  ...['swapon', 'swapoff', 'quotactl', 'quotactl_fd', 'nfsservctl', '_sysctl', 'sysfs', 'ustat'],
  ...['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'move_pages', 'migrate_pages'],
];
