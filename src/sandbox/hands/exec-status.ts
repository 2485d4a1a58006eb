// What a further command says of itself on a pipe of its own: its number in the sandbox, and how it ended. Written by the sandbox,
// which may write anything there: only small whole numbers are read, of a bounded text.
import type { Readable } from 'node:stream';
import { LaunchError } from '../run/sandbox-plan.ts';

const maxCharacters = 256;
/** Far more than a shell needs to begin, also on a machine that is busy with other things. */
const startMs = 20_000;

export class ExecStatus {
  /** The exit code; 137 when nobody says it any more. */
  readonly ended: Promise<number>;
  readonly #began: Promise<boolean>;
  #process: number | null = null;
  #group: number | null = null;

  constructor(pipe: Readable) {
    let text = '';
    let begin = (_began: boolean): void => {};
    this.#began = new Promise((resolve) => {
      begin = resolve;
    });
    this.ended = new Promise((resolve) => {
      pipe.setEncoding('latin1');
      pipe.on('data', (part: string) => {
        text += part;
        this.#process ??= numberIn(text, /^pid ([1-9]\d{0,6})$/m);
        this.#group ??= numberIn(text, /^group ([1-9]\d{0,6})$/m);
        if (this.#process !== null) begin(true);
        const code = numberIn(text, /^exit (\d{1,3})$/m);
        if (code === null && text.length <= maxCharacters) return;
        begin(true);
        resolve(code !== null && code <= 255 ? code : 137);
        pipe.destroy();
      });
      pipe.on('error', () => {});
      pipe.on('close', () => {
        begin(false);
        resolve(137);
      });
      pipe.on('end', () => {
        begin(false);
        resolve(137);
      });
    });
  }

  /** As the sandbox counts; null: it has not said. */
  get process(): number | null {
    return this.#process;
  }

  get group(): number | null {
    return this.#group;
  }

  async started(sandboxEnded: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), startMs);
    });
    const over = sandboxEnded.then(
      () => 'over' as const,
      () => 'over' as const,
    );
    const first = await Promise.race([this.#began, late, over]);
    clearTimeout(timer);
    if (first === 'over') throw new LaunchError('the sandbox has ended', 'sallyport ps');
    if (first === 'late')
      throw new LaunchError(
        'nothing in the sandbox answers: what waits there for further commands may have been ended by a program inside',
        'end the sandbox (sallyport stop) and start it again',
      );
  }
}

function numberIn(text: string, line: RegExp): number | null {
  const found = line.exec(text.slice(0, text.lastIndexOf('\n') + 1))?.[1];
  return found === undefined ? null : Number(found);
}
