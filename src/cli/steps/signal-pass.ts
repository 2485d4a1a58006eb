// Signals that reach `sallyport run` are for the command in the sandbox: those that a terminal sends to the whole job have
// reached it already, those that are sent to us alone are passed on. Asked a second time, the sandbox is ended.
import { isatty } from 'node:tty';
import type { RunningSandbox } from '../../sandbox/run/sandbox-plan.ts';

const passed: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
/** What the terminal's own keys send, to every process of the job. */
const fromTerminal: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const endings: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT'];

export class SignalPass {
  // Asked without opening standard input, which belongs to the command.
  readonly #atTerminal = isatty(0);
  readonly #listeners = passed.map((signal) => [signal, () => this.#take(signal)] as const);
  readonly #waiting: NodeJS.Signals[] = [];
  #sandbox: Pick<RunningSandbox, 'signal' | 'kill'> | null = null;
  #askedToEnd = false;

  constructor() {
    for (const [signal, listener] of this.#listeners) process.on(signal, listener);
  }

  passTo(sandbox: Pick<RunningSandbox, 'signal' | 'kill'>): void {
    this.#sandbox = sandbox;
    for (const signal of this.#waiting.splice(0)) sandbox.signal(signal);
  }

  letGo(): void {
    for (const [signal, listener] of this.#listeners) process.removeListener(signal, listener);
  }

  #take(signal: NodeJS.Signals): void {
    if (this.#sandbox === null) {
      this.#waiting.push(signal);
      return;
    }
    if (this.#atTerminal && fromTerminal.includes(signal)) return;
    if (this.#askedToEnd && endings.includes(signal)) this.#sandbox.kill();
    else this.#sandbox.signal(signal);
    this.#askedToEnd ||= endings.includes(signal);
  }
}
