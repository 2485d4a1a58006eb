// A terminal taken over whole: the alternate screen, keys as they are pressed, frames drawn at most ten times a second. However
// the process ends, short of being killed outright, the terminal is given back as it was.
import type { Input } from '../cli-context.ts';

export interface ScreenOutput {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
  readonly writableNeedDrain?: boolean;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface ScreenParts {
  readonly stdin: Input;
  readonly stdout: ScreenOutput;
  frame(size: { readonly columns: number; readonly rows: number }): readonly string[];
  onKeys(keys: string): void;
}

/**
 * With marks around what is pasted, so that it is not taken for keys. Without auto-wrap: a line that this terminal draws wider
 * than we count it must not become two, and scroll a question off the screen.
 */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h';
const leave = '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l';
/** Terminals that know it show a frame at once; the others ignore it. */
const beginFrame = '\u001b[?2026h\u001b[H';
const endFrame = '\u001b[J\u001b[?2026l';
const eraseRest = '\u001b[K';

const frameMs = 100;
const endings = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

export class FullScreen {
  readonly #parts: ScreenParts;
  #isOpen = false;
  #drawn = '';
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ScreenParts) {
    this.#parts = parts;
  }

  open(): void {
    const { stdin, stdout } = this.#parts;
    this.#isOpen = true;
    stdout.write(enter);
    stdin.setRawMode?.(true);
    stdin.on('data', this.#onData);
    stdin.resume();
    stdout.on('resize', this.#onResize);
    // Also when something throws that nobody catches.
    process.once('exit', this.#restore);
    for (const ending of endings) process.on(ending, this.#onEnding);
    this.#draw();
  }

  close(): void {
    const { stdin, stdout } = this.#parts;
    if (this.#timer !== null) clearTimeout(this.#timer);
    stdin.off('data', this.#onData);
    stdin.pause();
    stdout.off('resize', this.#onResize);
    process.off('exit', this.#restore);
    for (const ending of endings) process.off(ending, this.#onEnding);
    this.#restore();
  }

  /** Soon; whatever else changes until then is in the same frame. */
  redraw(): void {
    if (!this.#isOpen || this.#timer !== null) return;
    const inMs = Math.max(0, this.#drawnAtMs + frameMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#draw();
    }, inMs);
  }

  #draw(): void {
    const { stdout, frame } = this.#parts;
    // A terminal that does not keep up gets the next frame instead.
    if (!this.#isOpen || stdout.writableNeedDrain === true) return;
    // Not into the last column: what erases the rest of a line would erase that cell in some terminals.
    const lines = frame({ columns: (stdout.columns || 80) - 1, rows: stdout.rows || 24 });
    const text = lines.map((line) => line + eraseRest).join('\r\n');
    this.#drawnAtMs = performance.now();
    if (text === this.#drawn) return;
    this.#drawn = text;
    stdout.write(beginFrame + text + endFrame);
  }

  readonly #onData = (chunk: Buffer | string): void => {
    this.#parts.onKeys(chunk.toString('utf8'));
    this.redraw();
  };

  readonly #onResize = (): void => {
    // Another size leaves parts of the old frame behind, also where the new one has the same text.
    this.#drawn = '';
    this.redraw();
  };

  readonly #onEnding = (signal: NodeJS.Signals): void => {
    this.close();
    // Now as if nobody had listened.
    process.kill(process.pid, signal);
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#parts.stdin.setRawMode?.(false);
    this.#parts.stdout.write(leave);
  };
}
