// The command has the user's own terminal. What it puts into the terminal's input (TIOCSTI, and on a console TIOCLINUX) the
// shell that started us would read as the user's next command, outside of any sandbox.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../../support/launch-ground.ts';
import { runAtTerminal } from '../../support/pty.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

// Past the C library too: the kernel looks at the low 32 bits of the request alone.
const typing = `
import ctypes, errno, fcntl, os, platform
libc = ctypes.CDLL(None, use_errno=True)
number = 16 if platform.machine() == 'x86_64' else 29
letter = ctypes.create_string_buffer(b'x')
def attempt(request, terminal):
    ctypes.set_errno(0)
    failed = libc.syscall(ctypes.c_long(number), ctypes.c_long(terminal), ctypes.c_ulong(request), letter) < 0
    return errno.errorcode.get(ctypes.get_errno(), 'nothing') if failed else 'TYPED'
try: tty = os.open('/dev/tty', os.O_RDWR)
except OSError: tty = 0
print('answers', *[attempt(high | request, terminal) for terminal in (0, tty) for request in (0x5412, 0x541c, 0x5423) for high in (0, 0xbad << 32)])
print('size', fcntl.ioctl(0, 0x5413, b'12345678') != b'')
`;

describe.each([
  { how: 'bubblewrap of root', order: {} },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid } },
  { how: 'namespaces of root', order: { launcher: 'namespaces' } },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' } },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' } },
] as const)('in $how', ({ order }) => {
  test('nothing can be put into the input of the terminal, and other requests work', async () => {
    const words = ground.words({ ...order, stdio: 'terminal', command: ['/usr/bin/python3', '-c', typing] });
    const run = await runAtTerminal(words, [{ wait: 'size True' }], { folder: ground.folder });
    expect([run.missed, run.code], run.screen).toEqual([null, 0]);
    expect(run.screen).toContain(`answers ${Array(12).fill('EPERM').join(' ')}\r\n`);
  });
});
