// The launcher for machines without bubblewrap, only when asked for: network, processes and IPC are the sandbox's own, files
// are the host's but for what is masked. It says so loudly. Never for root, whose files are the machine: a sandbox of
// root that can write /etc is none.
import { readOnlyBindOptions } from '../files/mount-options.ts';
import { sealMounts } from '../files/seal-mounts.ts';
import { coverSocketFolders } from '../files/socket-folders.ts';
import { verifyMounts } from '../files/verify-mounts.ts';
import { execInNamespace } from '../hands/exec-in-namespace.ts';
import { runningIn } from '../run/running-sandbox.ts';
import { LaunchError, type Launcher } from '../run/sandbox-plan.ts';
import { sandboxUser } from '../run/sandbox-user.ts';
import { findTool, needTool } from './find-tool.ts';
import { holdNamespace, mountedMark, secondInput } from './namespace-holder.ts';
import { plainUnshareEnvironment, plainUnshareScript, type UnshareTools } from './plain-unshare-script.ts';
import { firstChildOf } from './process-tree.ts';
import { seccompProgram } from './seccomp.ts';

export function createPlainUnshareLauncher(
  uid = process.getuid?.(),
  findLoader = findFilterLoader,
  find = findTool,
): Launcher {
  if (uid === 0)
    throw new LaunchError(
      'plain unshare does not contain root: the command could write to the system that runs it',
      'use bubblewrap or --launcher namespaces, or start it as an ordinary user',
    );
  const tools = findTools(findLoader(secondInput), find);
  const filter = tools.filterLoader === null ? Buffer.alloc(0) : seccompProgram(process.arch);
  return {
    name: 'unshare',
    notice: noticeOf(tools),
    async prepare(stdio) {
      const holder = await holdNamespace({ stdio, own: ['--mount', '--ipc'] });
      return {
        pid: holder.pid,
        async start(plan) {
          const whole = { ...plan, mounts: [...coverSocketFolders(plan), ...plan.mounts] };
          const script = plainUnshareScript(whole, sandboxUser(), tools, (path) => readOnlyBindOptions(path));
          const seals = sealMounts(whole.mounts, 'host', plan.seals);
          const verify = async (): Promise<void> => {
            const init = (await holder.said(mountedMark)) ? holder.initPid() : null;
            if (init !== null) await verifyMounts(init, seals);
          };
          await holder.run(script, { first: plainUnshareEnvironment(plan, tools.env), second: filter, verify });
          return runningIn(holder, stdio, {
            findCommand: () => {
              const init = holder.initPid();
              return init === null ? null : firstChildOf(init);
            },
            // Its terminals are those of the host.
            exec: execInNamespace(holder, plan, null),
          });
        },
        async discard() {
          holder.kill();
          await holder.ended;
        },
      };
    },
  };
}

function findTools(filterLoader: UnshareTools['filterLoader'], find: typeof findTool): UnshareTools {
  const utilLinux = 'install util-linux, which every distribution has';
  return {
    sh: needTool('sh', 'a POSIX shell is needed at /bin/sh', find),
    env: needTool('env', 'install coreutils', find),
    cat: needTool('cat', 'install coreutils', find),
    mount: needTool('mount', utilLinux, find),
    umount: needTool('umount', utilLinux, find),
    unshare: needTool('unshare', utilLinux, find),
    setpriv: needTool('setpriv', utilLinux, find),
    filterLoader,
  };
}

function noticeOf({ filterLoader }: UnshareTools): readonly string[] {
  return [
    'PLAIN UNSHARE DOES NOT ISOLATE FILES: the command reads and writes every file that you can, save those that are masked.',
    'It can plant what you will run later outside (shell start-up files, hooks, scripts) and talk to programs that listen on ' +
      'Unix sockets elsewhere than in the usual folders. Network, processes and IPC are isolated. Install bubblewrap for the rest.',
    ...(filterLoader === null
      ? [
          'SYSTEM CALLS ARE NOT FILTERED, since neither perl nor python3 is here to load the filter: sockets to the hypervisor ' +
            '(AF_VSOCK), io_uring, your kernel keyring and typing into your terminal (TIOCSTI) are open to the command.',
        ]
      : []),
  ];
}

// Without bubblewrap a system call filter needs somebody to load it: no tool of util-linux before 2.41 can. Perl and Python
// can make the two system calls it takes; one of them is on nearly every machine. Never Node: it has threads, and a filter
// is bound to the thread that loads it.
/** prctl: the only number that differs between machines. */
const prctlNumber: Readonly<Record<string, number>> = { x64: 157, arm64: 167 };

/** A command that loads the program read from `descriptor`, then goes on as its arguments; null when nothing here can. */
export function findFilterLoader(
  descriptor: number,
  find: (name: string) => string | null = findSystemTool,
): readonly string[] | null {
  const perl = find('perl');
  if (perl !== null) return [perl, '-e', perlProgram(descriptor), '--'];
  const python = find('python3');
  return python === null ? null : [python, '-I', '-S', '-c', pythonProgram(descriptor)];
}

/** Of the system only: one in the user's PATH may be a wrapper that starts another, or lie where the sandbox does not see it. */
function findSystemTool(name: string): string | null {
  return findTool(name, '');
}

// PR_SET_NO_NEW_PRIVS (38) is what lets a process without privilege load one by PR_SET_SECCOMP (22), SECCOMP_MODE_FILTER (2).
// struct sock_fprog: how many instructions of eight bytes, and where they are.

function perlProgram(descriptor: number): string {
  const prctl = prctlNumber[process.arch] ?? -1;
  return [
    `open(my $file, '<&=', ${descriptor}) or die "no filter: $!\\n"; binmode $file; local $/; my $filter = <$file>;`,
    `length($filter) or die "the filter is empty\\n"; my $program = pack('S x![P] P', length($filter) / 8, $filter);`,
    `syscall(${prctl}, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!\\n";`,
    `syscall(${prctl}, 22, 2, $program) == 0 or die "the filter cannot be loaded: $!\\n";`,
    `exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";`,
  ].join(' ');
}

function pythonProgram(descriptor: number): string {
  return [
    'import ctypes, os, sys',
    `filter = open(${descriptor}, 'rb').read()`,
    "filter or sys.exit('the filter is empty')",
    'held = ctypes.create_string_buffer(filter, len(filter))',
    'class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]',
    'program = Program(len(filter) // 8, ctypes.addressof(held))',
    'prctl = ctypes.CDLL(None, use_errno=True).prctl',
    'word = ctypes.c_ulong',
    "prctl(38, word(1), word(0), word(0), word(0)) == 0 or sys.exit('no_new_privs')",
    "prctl(22, word(2), ctypes.byref(program), word(0), word(0)) == 0 or sys.exit('the filter cannot be loaded')",
    'os.execv(sys.argv[1], sys.argv[1:])',
  ].join('\n');
}
