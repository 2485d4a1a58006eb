// A sandbox at a real terminal: keys, signals, sizes, full-screen programs and job control reach the command as if there
// were nothing in between.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, type LaunchOrder, makeLaunchGround, ordinaryUid } from '../support/launch-ground.ts';
import { type PtyStep, runAtTerminal } from '../support/pty.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

const ctrlC = '\x03';
const ctrlZ = '\x1a';
const ctrlBackslash = '\x1c';

const atTerminal = (order: LaunchOrder, steps: readonly PtyStep[]) =>
  runAtTerminal(ground.words({ ...order, stdio: 'terminal' }), steps, { folder: ground.folder });
const python = (...lines: readonly string[]): readonly string[] => ['/usr/bin/python3', '-c', lines.join('\n')];

describe.each([
  { how: 'bubblewrap of root', order: {} },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid } },
  { how: 'namespaces of root', order: { launcher: 'namespaces' } },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' } },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' } },
] as const)('a terminal in $how', ({ order }) => {
  test('Ctrl-C ends a command that does not handle it, with 130', async () => {
    const run = await atTerminal({ ...order, command: ['sh', '-c', 'echo up; exec sleep 300'] }, [
      { wait: 'up' },
      { type: ctrlC },
    ]);
    expect([run.missed, run.code], run.screen).toEqual([null, 130]);
  });

  test('Ctrl-C and Ctrl-\\ reach a command that handles them, and a new size of the window too', async () => {
    const command = python(
      'import os, select, signal, sys',
      'def say(number, frame): os.write(1, f"{signal.Signals(number).name} {tuple(os.get_terminal_size())}\\n".encode())',
      'for each in (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH): signal.signal(each, say)',
      'print("tty", *[os.isatty(fd) for fd in (0, 1, 2)], os.environ["TERM"], flush=True)',
      // Looks up often: Python runs a handler only between two steps of its own.
      'while not select.select([0], [], [], 0.02)[0]: pass',
      'sys.exit(int(input()))',
    );
    const run = await atTerminal({ ...order, command, environment: { TERM: 'xterm-256color' } }, [
      { wait: 'tty True True True xterm-256color' },
      { type: ctrlC },
      { wait: 'SIGINT' },
      { type: ctrlBackslash },
      { wait: 'SIGQUIT' },
      { resize: [31, 97] },
      { wait: 'SIGWINCH (97, 31)' },
      { type: '5\n' },
    ]);
    expect([run.missed, run.code], run.screen).toEqual([null, 5]);
  });

  test('a full-screen program draws, reads single keys and gives the screen back', async () => {
    const command = python(
      'import curses',
      'def draw(screen):',
      '    curses.start_color(); curses.init_pair(1, curses.COLOR_RED, 0)',
      '    screen.addstr(2, 3, "press a key", curses.color_pair(1)); screen.refresh()',
      '    return screen.getkey()',
      'print("key was", curses.wrapper(draw))',
    );
    const run = await atTerminal({ ...order, command, environment: { TERM: 'xterm-256color' } }, [
      // The other screen and back, and red: as the terminal's description says it.
      { wait: '\x1b[?1049h' },
      { wait: '\x1b[31m' },
      { wait: 'press a key' },
      { type: 'k' },
      { wait: '\x1b[?1049l' },
      { wait: 'key was k' },
    ]);
    expect([run.missed, run.code], run.screen).toEqual([null, 0]);
  });

  test('a shell inside has job control', async () => {
    const job = ['import os, signal', 'signal.signal(signal.SIGCONT, lambda *_: os.write(1, b"goes on"))'];
    ground.write('job.py', [...job, 'os.write(1, b"at work")', 'while True: signal.pause()'].join('\n'));
    const run = await atTerminal({ ...order, command: ['bash', '--norc', '-i'], environment: { PS1: 'inside> ' } }, [
      { wait: 'inside> ' },
      // The words of the program, not of the line that was typed: by then it has the terminal.
      { type: '/usr/bin/python3 job.py\n' },
      { wait: 'at work' },
      { type: ctrlZ },
      { wait: 'Stopped' },
      { type: 'jobs\n' },
      { wait: 'Stopped' },
      { type: 'fg\n' },
      { wait: 'goes on' },
      { type: ctrlC },
      { wait: 'inside> ' },
      { type: 'exit 6\n' },
    ]);
    expect(run.screen).not.toMatch(/no job control|cannot set terminal/);
    expect([run.missed, run.code], run.screen).toEqual([null, 6]);
  });

  test('Ctrl-Z stops the whole of it, and fg brings it back', async () => {
    const words = ground.words({
      ...order,
      stdio: 'terminal',
      command: ['sh', '-c', 'echo up; read line; echo "read $line"; exit 4'],
    });
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    ground.write('launch.sh', `exec ${quoted}\n`);
    const run = await runAtTerminal(
      ['bash', '--norc', '-i'],
      [
        { wait: 'outside> ' },
        { type: 'sh launch.sh\n' },
        { wait: 'up' },
        { type: ctrlZ },
        { wait: 'Stopped' },
        { wait: 'outside> ' },
        // A shell that takes the terminal back may throw away what is typed in that moment: here it is blanks.
        { type: '    fg\n' },
        { wait: 'launch.sh' },
        { type: 'words\n' },
        { wait: 'read words' },
        { wait: 'outside> ' },
        { type: '    echo "code $?"; exit\n' },
        { wait: 'code 4' },
      ],
      { folder: ground.folder, environment: { PS1: 'outside> ' } },
    );
    expect(run.missed, run.screen).toBeNull();
  });
});
