// A program at a real terminal, and a pair of hands: waits for words on the screen, types, resizes. By Python's pty module,
// since Node has none. Nothing waits for ever.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export type PtyStep =
  /** Until this stands on the screen, looking only behind what was found before. */
  { readonly wait: string } | { readonly type: string } | { readonly resize: readonly [rows: number, columns: number] };

export interface PtyRun {
  readonly screen: string;
  /** 128 + n when a signal ended it. */
  readonly code: number;
  /** The words that were waited for in vain. */
  readonly missed: string | null;
}

const harness = `
import fcntl, json, os, pty, select, signal, struct, sys, termios, time
words, steps, environment, folder = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(folder)
    os.dup2(os.open('/dev/null', os.O_WRONLY), 3); os.set_inheritable(3, True)
    os.execvpe(words[0], words, environment)
screen, seen, missed, deadline = b'', 0, None, time.time() + 40
def read(seconds):
    global screen
    if not select.select([terminal], [], [], seconds)[0]: return True
    try: part = os.read(terminal, 65536)
    except OSError: return False
    screen += part
    return part != b''
for step in steps:
    if 'wait' in step:
        wanted = step['wait'].encode()
        while screen.find(wanted, seen) == -1:
            if time.time() > deadline or not read(0.2):
                if screen.find(wanted, seen) == -1 and (time.time() > deadline or not read(0.2)): missed = step['wait']; break
        if missed: break
        seen = screen.find(wanted, seen) + len(wanted)
    elif 'type' in step: os.write(terminal, step['type'].encode())
    else: fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', *step['resize'], 0, 0))
if missed: os.kill(pid, signal.SIGKILL)
while time.time() < deadline and read(0.2): pass
status = os.waitpid(pid, os.WNOHANG)
while status[0] == 0 and time.time() < deadline: time.sleep(0.05); status = os.waitpid(pid, os.WNOHANG)
if status[0] == 0: os.kill(pid, signal.SIGKILL); status = os.waitpid(pid, 0); missed = missed or 'the end'
code = os.waitstatus_to_exitcode(status[1])
print(json.dumps({'screen': screen.decode('utf8', 'replace'), 'code': code if code >= 0 else 128 - code, 'missed': missed}))
`;

export async function runAtTerminal(
  words: readonly string[],
  steps: readonly PtyStep[],
  options: { readonly folder: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<PtyRun> {
  const environment = { PATH: process.env.PATH ?? '', HOME: options.folder, TERM: 'xterm', ...options.environment };
  const child = spawn('/usr/bin/python3', ['-c', harness], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify([words, steps, environment, options.folder]));
  return JSON.parse(await text(child.stdout)) as PtyRun;
}
