// Attacks that speak to the kernel directly: small Python programs that try one call where it is allowed and the forbidden one
// by the same means, and print what the kernel said to each. What is tried must do no harm where there is a hole.
import type { Area, Attack, AttackFinding, Facts } from '../attack.ts';
import type { Ground } from '../ground.ts';
import { brief, held, hole, succeeds, unproven } from '../judge.ts';
import type { Probe } from '../probe.ts';

/** `say(name, result)`: prints `name: ok`, or the kernel's word when the result is below zero. */
const prelude = `
import ctypes, errno, os, platform, signal, sys
signal.alarm(8)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
numbers = {'keyctl': 250, 'add_key': 248, 'request_key': 249, 'bpf': 321, 'perf_event_open': 298, 'userfaultfd': 323,
  'open_by_handle_at': 304, 'kexec_load': 246, 'io_uring_setup': 425, 'getpid': 39, 'ioctl': 16, 'init_module': 175}
if platform.machine() == 'aarch64':
    numbers = {'keyctl': 219, 'add_key': 217, 'request_key': 218, 'bpf': 280, 'perf_event_open': 241, 'userfaultfd': 282,
      'open_by_handle_at': 265, 'kexec_load': 104, 'io_uring_setup': 425, 'getpid': 172, 'ioctl': 29, 'init_module': 105}
def say(name, result):
    code = ctypes.get_errno()
    print(name + ': ' + ('ok' if result >= 0 else errno.errorcode.get(code, str(code))), flush=True)
def call(name, *args):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(numbers[name]), *args)
def attempt(name, act):
    try:
        act()
        print(name + ': ok', flush=True)
    except OSError as error:
        print(name + ': ' + errno.errorcode.get(error.errno, str(error.errno)), flush=True)
`;

export interface KernelAttack {
  readonly name: string;
  readonly area?: Area;
  readonly tried: string;
  /** What the kernel says when our wall stands. */
  readonly errors: readonly string[];
  readonly because: string;
  /** What the kernel says when it would have done it, had the arguments been right. */
  readonly permitted?: readonly string[];
  /** Prints `control: ok` and one or more `attempt…: WORD` lines. */
  code(ground: Ground): string;
}

export function python(code: string): Probe {
  return { do: 'run', argv: ['python3', '-c', `${prelude}${code}`] };
}

export const pythonRuns = succeeds('python3 runs inside', () => [{ do: 'run', argv: ['python3', '-c', 'pass'] }]);

/** Lines of the form `name: word`. */
export function linesOf(text: string): [name: string, word: string][] {
  return [...text.matchAll(/^([a-z][\w -]*): (.+)$/gm)].map(([, name = '', word = '']) => [name, word.trim()]);
}

/** A kernel that was built without something says these by itself: they are ours only where a filter is in force. */
const onlyWithFilter: readonly string[] = ['EAFNOSUPPORT', 'ENOSYS'];

/** `observed`: what the program printed, and the status of a process of the sandbox. */
export function judgeLines({ observed }: Facts, attack: Omit<KernelAttack, 'code'>): AttackFinding {
  const { errors, because, permitted = [] } = attack;
  const text = observed[0]?.text ?? '';
  const isFiltered = /^Seccomp:\s*2$/m.test(observed[1]?.text ?? '');
  const lines = linesOf(text);
  if (!lines.some(([name, word]) => name === 'control' && word === 'ok')) {
    return unproven(`the test itself does not work here: ${brief(text)}`);
  }
  const attempts = lines.filter(([name]) => name.startsWith('attempt'));
  if (attempts.length === 0) return unproven(`nothing was tried: ${brief(text)}`);
  const words = attempts.map(([name, word]) => `${name.slice('attempt'.length).trim()} ${word}`.trim());
  if (attempts.some(([, word]) => word === 'ok' || permitted.includes(word))) {
    return hole(`the kernel would do it: ${words.join(', ')}`);
  }
  if (attempts.some(([, word]) => !errors.includes(word))) return unproven(`failed with ${words.join(', ')}`);
  if (!isFiltered && attempts.some(([, word]) => onlyWithFilter.includes(word))) {
    return unproven(`${words.join(', ')}, but no filter is in force: this kernel may not have it at all`);
  }
  return held(`${[...new Set(words)].join(', ')}: ${because}`);
}

export function kernelAttack(attack: KernelAttack): Attack {
  const { name, area = 'kernel', tried, code } = attack;
  return {
    name,
    area,
    tried,
    needs: ['python3'],
    control: pythonRuns,
    attempt: (ground) => [python(code(ground)), { do: 'read', path: '/proc/self/status' }],
    judge: (facts) => judgeLines(facts, attack),
  };
}
