// Without bubblewrap a system call filter needs somebody to load it: no tool of util-linux before 2.41 can. Perl and Python
// can make the two system calls it takes; one of them is on nearly every machine. Never Node: it has threads, and a filter
// is bound to the thread that loads it.
import { findTool } from './find-tool.ts';

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
