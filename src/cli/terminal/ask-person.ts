// Questions to the person at the terminal, each with an answer that Enter takes. Never asked where nobody can answer: the
// caller looks first.
import { createInterface } from 'node:readline';
import type { Input } from '../cli-context.ts';
import { CommandFailed, exitCode } from './exit-code.ts';

/** One key, without Enter; the end of the input is none. `show` asks: by then Ctrl-C is a key too, and ends nothing half-way. */
export async function askKey(stdin: Input, show: () => void): Promise<string> {
  stdin.setRawMode?.(true);
  try {
    show();
    return await new Promise<string>((resolve) => {
      stdin.once('data', (typed: Buffer | string) => resolve(String(typed).slice(0, 1)));
      stdin.once('end', () => resolve(''));
      stdin.resume();
    });
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
  }
}

export interface Prompts {
  /** What was typed, trimmed; `otherwise` for nothing. The end of the input ends the command: nothing was done yet. */
  ask(question: string, otherwise: string): Promise<string>;
  /** Asks again when it is neither. */
  askYesOrNo(question: string, otherwise: boolean): Promise<boolean>;
  close(): void;
}

export function openQuestions(
  stdin: Input,
  write: (text: string) => unknown = (text) => process.stderr.write(text),
): Prompts {
  // One reader for all of them: lines that were typed ahead are not lost between two questions.
  const reader = createInterface({ input: stdin, terminal: false });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (question: string, otherwise: string): Promise<string> => {
    write(`${question} `);
    const { done, value } = await lines.next();
    if (done === true) {
      write('\n');
      throw new CommandFailed(exitCode.failure, 'nobody answered: nothing was written');
    }
    return value.trim() === '' ? otherwise : value.trim();
  };
  return {
    ask: (question, otherwise) => ask(`${question} [${otherwise}]`, otherwise),
    async askYesOrNo(question, otherwise) {
      for (;;) {
        const answer = await ask(`${question} ${otherwise ? '[Y/n]' : '[y/N]'}`, otherwise ? 'y' : 'n');
        if (/^(?:y|yes)$/i.test(answer)) return true;
        if (/^(?:n|no)$/i.test(answer)) return false;
        write('Type y or n, and Enter.\n');
      }
    },
    close() {
      reader.close();
      stdin.pause();
    },
  };
}
