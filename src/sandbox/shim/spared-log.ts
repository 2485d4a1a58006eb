// A rate-limited log for messages that anybody on the machine can cause: a client that is refused over and over must not
// fill the disk or bury what matters. Counts what it leaves out.
import type { Log, LogDetail } from '../../kit/text/log.ts';

const linesPerMinute = 20;

export class SparedLog {
  readonly #log: Pick<Log, 'warn'>;
  #minute = Number.NEGATIVE_INFINITY;
  #said = 0;
  #unsaid = 0;

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  warn(message: string, detail: LogDetail): void {
    const minute = Math.floor(performance.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#said = 0;
    }
    if (this.#said >= linesPerMinute) {
      this.#unsaid++;
      return;
    }
    this.#said++;
    this.#log.warn(message, { ...detail, ...(this.#unsaid > 0 && { unshown_before: this.#unsaid }) });
    this.#unsaid = 0;
  }
}
