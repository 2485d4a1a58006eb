// Reads what the processes of a namespace holder report while they set up a sandbox: a line for each step done, or the
// reason for a failure. Keeps the beginning only; later output, while the command runs, is dropped.
import type { Readable } from 'node:stream';

const keptCharacters = 16 * 1024;

export class HolderReport {
  private text = '';
  private readonly ended: Promise<void>;
  private wake: (() => void) | null = null;

  constructor(stream: Readable) {
    stream.setEncoding('utf8');
    stream.on('data', (part: string) => {
      if (this.text.length < keptCharacters) this.text += part;
      this.wake?.();
    });
    this.ended = new Promise((resolve) => {
      stream.once('close', resolve);
      stream.on('error', () => resolve());
    });
  }

  /** True when the line came; false when `end` came first and nothing more is to be read. */
  async until(line: string, end: Promise<unknown>): Promise<boolean> {
    let over = false;
    const finish = end.then(
      () => this.ended,
      () => this.ended,
    );
    void finish.then(() => {
      over = true;
      this.wake?.();
    });
    while (!this.has(line) && !over) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.has(line);
  }

  /** Everything said so far but the given lines. */
  without(...lines: readonly string[]): string {
    return this.text
      .split('\n')
      .filter((said) => !lines.includes(said))
      .join('\n')
      .trim();
  }

  private has(line: string): boolean {
    return `\n${this.text}`.includes(`\n${line}\n`);
  }
}
