// A real terminal that stays open while a test does other things, several side by side: it is typed into, and waited for words.
// By Python's pty module, as in pty.ts. What a test leaves open is closed at the end of its file.
import { spawn } from 'node:child_process';
import { afterThisFile } from './after-this-file.ts';
import { eventually } from './eventually.ts';

export interface Terminal {
  type(text: string): void;
  /** Until this stands on the screen, behind what was waited for before. Returns what stood in between, with it. */
  wait(words: string | RegExp): Promise<string>;
  /** Everything that was ever written to it. */
  screen(): string;
  /** The exit code; 128 + n when a signal ended it. */
  readonly ended: Promise<number>;
}

const harness = `
import fcntl, json, os, pty, select, struct, sys, termios
words, environment, folder = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(folder)
    os.execvpe(words[0], words, environment)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 200, 0, 0))
inputs = [terminal, 0]
while True:
    ready = select.select(inputs, [], [])[0]
    if terminal in ready:
        try: part = os.read(terminal, 65536)
        except OSError: part = b''
        if part == b'': break
        os.write(1, part)
    if 0 in ready:
        typed = os.read(0, 65536)
        if typed == b'': inputs = [terminal]
        else: os.write(terminal, typed)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
`;

export function openTerminal(
  words: readonly string[],
  options: { readonly folder: string; readonly environment?: Readonly<Record<string, string>> },
): Terminal {
  const environment = { PATH: process.env.PATH ?? '', HOME: options.folder, TERM: 'xterm', ...options.environment };
  const child = spawn('/usr/bin/python3', ['-c', harness, JSON.stringify([words, environment, options.folder])], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Whoever closes it hangs up, as a terminal does.
  afterThisFile(() => void child.kill('SIGKILL'));
  let screen = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
  });
  child.stdin.on('error', () => {});
  let isOver = false;
  const ended = new Promise<number>((resolve) =>
    child.on('close', (code) => {
      isOver = true;
      resolve(code ?? -1);
    }),
  );
  return {
    type: (text) => void child.stdin.write(text),
    async wait(wanted) {
      const end = await eventually(
        () => endOf(screen.slice(seen), wanted) || (isOver ? -1 : 0),
        () => `${wanted} on the screen, behind this:\n${screen.slice(seen)}`,
      );
      if (end < 0)
        throw new Error(`it ended, and ${wanted} was not on the screen, behind this:\n${screen.slice(seen)}`);
      const found = screen.slice(seen, seen + end);
      seen += end;
      return found;
    },
    screen: () => screen,
    ended,
  };
}

/** 0: not there. */
function endOf(text: string, wanted: string | RegExp): number {
  if (typeof wanted !== 'string') {
    const found = wanted.exec(text);
    return found === null ? 0 : found.index + found[0].length;
  }
  const at = text.indexOf(wanted);
  return at === -1 ? 0 : at + wanted.length;
}
