// A terminal made by us (a pty): its master end, for Node, which has no word for it. Whose terminals they are is decided by which
// `ptmx` is opened: the host's own, or that of a sandbox. Never becomes anybody's controlling terminal here.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import koffi from 'koffi';

export interface Terminal {
  /** Bytes both ways. Ends when nobody has the other end any more. */
  readonly stream: ReadStream;
  /** Of `/dev/pts/N`, where `ptmx` belongs to. */
  readonly number: number;
  resize(size: { readonly rows: number; readonly columns: number }): void;
}

// asm-generic/ioctls.h, the same on x86, arm and riscv.
const TIOCGPTN = 0x80045430;
const TIOCSPTLCK = 0x40045431;
const TIOCSWINSZ = 0x5414;

/** makedev(5, 2), on every Linux. */
const ptmxDevice = 0x502;

let call: ((fd: number, request: number, value: Buffer) => number) | null = null;

function control(fd: number, request: number, value: Buffer): void {
  call ??= koffi.load(null).func('int ioctl(int fd, unsigned long request, _Inout_ uint8_t *value)');
  if (call(fd, request, value) !== 0) throw new Error(`the terminal refuses (errno ${koffi.errno()})`);
}

export function openTerminal(ptmx: string, size: { readonly rows: number; readonly columns: number }): Terminal {
  // Whatever may lie there: nothing waits, nothing becomes our terminal.
  const master = openSync(ptmx, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = fstatSync(master);
    if (!stats.isCharacterDevice() || stats.rdev !== ptmxDevice) throw new Error(`${ptmx} makes no terminals`);
    const value = Buffer.alloc(8);
    control(master, TIOCSPTLCK, value);
    control(master, TIOCGPTN, value);
    const resize: Terminal['resize'] = ({ rows, columns }) => {
      const window = Buffer.alloc(8);
      window.writeUInt16LE(rows, 0);
      window.writeUInt16LE(columns, 2);
      control(master, TIOCSWINSZ, window);
    };
    resize(size);
    const number = value.readUInt32LE(0);
    const stream = new ReadStream(master);
    let open = true;
    stream.on('close', () => {
      open = false;
    });
    return { stream, number, resize: (to) => (open ? resize(to) : undefined) };
  } catch (error) {
    closeSync(master);
    throw error;
  }
}
