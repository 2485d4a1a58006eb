// The system calls a sandbox may not make, as a classic BPF program for the kernel: ways around the network namespace
// (vsock, io_uring), into the user's terminal and keyring, and wide doors into the kernel. Pure. Everything else stays
// allowed, user namespaces too: agents have sandboxes of their own. It is the second wall; namespaces are the first.
import { LaunchError } from '../run/sandbox-plan.ts';

/** struct sock_filter: operation, jump if true, jump if false, operand. */
type Instruction = readonly [code: number, jt: number, jf: number, k: number];

// linux/bpf_common.h
const LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_AT_LEAST = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

// linux/seccomp.h
const KILL_PROCESS = 0x80000000;
const ALLOW = 0x7fff0000;
const failWith = (errno: number): number => 0x00050000 | errno;

// asm-generic/errno.h
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

// struct seccomp_data. Of an argument only the low half is read (little-endian): int is all the kernel takes of the ones
// judged here, so bits set above it must make no difference.
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index;

interface Machine {
  /** AUDIT_ARCH_* */
  readonly audit: number;
  /** Calls of x32 reach the same kernel functions under other numbers, from this bit on. */
  readonly otherNumbersFrom: number | null;
  readonly calls: Readonly<Record<keyof typeof refused | 'ioctl' | 'socket' | 'socketpair', number>>;
}

/** Refused whatever their arguments, and what the program is told. */
const refused = {
  // Opens and uses sockets in the kernel, past every filter. Programs that know it fall back when it is not there.
  io_uring_setup: ENOSYS,
  io_uring_enter: ENOSYS,
  io_uring_register: ENOSYS,
  // The user's keyring is bound to no namespace.
  add_key: EPERM,
  request_key: EPERM,
  keyctl: EPERM,
  // Opens any file of a file system by number, past what is mounted.
  open_by_handle_at: EPERM,
  // The host's kernel log.
  syslog: EPERM,
  bpf: EPERM,
  perf_event_open: EPERM,
  userfaultfd: EPERM,
  kexec_load: EPERM,
  kexec_file_load: EPERM,
  init_module: EPERM,
  finit_module: EPERM,
  delete_module: EPERM,
} as const;

const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    otherNumbersFrom: 0x40000000,
    calls: {
      ...{ ioctl: 16, socket: 41, socketpair: 53, syslog: 103, init_module: 175, delete_module: 176, kexec_load: 246 },
      ...{ add_key: 248, request_key: 249, keyctl: 250, perf_event_open: 298, open_by_handle_at: 304 },
      ...{ finit_module: 313, kexec_file_load: 320, bpf: 321, userfaultfd: 323 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
    },
  },
  arm64: {
    audit: 0xc00000b7,
    otherNumbersFrom: null,
    calls: {
      ...{
        ioctl: 29,
        socket: 198,
        socketpair: 199,
        syslog: 116,
        init_module: 105,
        delete_module: 106,
        kexec_load: 104,
      },
      ...{ add_key: 217, request_key: 218, keyctl: 219, perf_event_open: 241, open_by_handle_at: 265 },
      ...{ finit_module: 273, kexec_file_load: 294, bpf: 280, userfaultfd: 282 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
    },
  },
};

// asm-generic/ioctls.h. The first two type into the terminal as if the user did: into the shell that started us.
// The third puts a driver of the sandbox's choice on the user's terminal.
const refusedTerminalRequests = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */];

// linux/socket.h. AF_VSOCK (40) is why this is a list of what may be: it reaches the hypervisor from any network namespace.
const AF_NETLINK = 16;
const socketFamilies = [1 /* AF_UNIX */, 2 /* AF_INET */, 10 /* AF_INET6 */, AF_NETLINK];
// What getifaddrs, ss and libudev ask. Not netfilter and xfrm, through which user namespaces most often led into the kernel.
const netlinkProtocols = [0 /* ROUTE */, 4 /* SOCK_DIAG */, 15 /* KOBJECT_UEVENT */];

/** The program for a machine (`process.arch`), as `struct sock_filter[]`. */
export function seccompProgram(architecture: string): Buffer {
  const machine = machines[architecture];
  if (machine === undefined)
    throw new LaunchError(
      `there is no system call filter for ${architecture}: it is written for x64 and arm64`,
      'run the sandbox with Docker, which has a filter of its own: --launcher docker --image IMAGE',
    );
  const { audit, otherNumbersFrom, calls } = machine;
  const families = [load(argument(0)), ...socketFamilies.flatMap((family) => skipOver(family, judgeFamily(family)))];
  return encode([
    load(ARCHITECTURE),
    // A call of another instruction set has other numbers: nothing here would fit it.
    [JUMP_EQUAL, 1, 0, audit],
    end(KILL_PROCESS),
    load(NUMBER),
    ...(otherNumbersFrom === null ? [] : [[JUMP_AT_LEAST, 0, 1, otherNumbersFrom] as const, end(failWith(ENOSYS))]),
    ...Object.entries(refused).flatMap(([name, errno]) =>
      skipOver(calls[name as keyof typeof refused], [end(failWith(errno))]),
    ),
    ...skipOver(calls.ioctl, [
      load(argument(1)),
      ...refusedTerminalRequests.flatMap((request) => skipOver(request, [end(failWith(EPERM))])),
      end(ALLOW),
    ]),
    ...[calls.socket, calls.socketpair].flatMap((call) => skipOver(call, [...families, end(failWith(EAFNOSUPPORT))])),
    end(ALLOW),
  ]);
}

/** What follows a family that may be: every protocol, save in netlink. */
function judgeFamily(family: number): readonly Instruction[] {
  if (family !== AF_NETLINK) return [end(ALLOW)];
  return [
    load(argument(2)),
    ...netlinkProtocols.flatMap((protocol) => skipOver(protocol, [end(ALLOW)])),
    end(failWith(EPROTONOSUPPORT)),
  ];
}

/** `body` when the loaded word is `value`; else the program goes on behind it. The body must end with a return. */
function skipOver(value: number, body: readonly Instruction[]): readonly Instruction[] {
  return [[JUMP_EQUAL, 0, body.length, value], ...body];
}

function load(offset: number): Instruction {
  return [LOAD_WORD, 0, 0, offset];
}

function end(verdict: number): Instruction {
  return [RETURN, 0, 0, verdict];
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jt, jf, k], i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(jt, i * 8 + 2);
    bytes.writeUInt8(jf, i * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, i * 8 + 4);
  });
  return bytes;
}
