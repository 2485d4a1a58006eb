// At the start of `run` and `up`, where somebody sits at the terminal: a configuration that a sandbox may have written is shown
// as what changed since it was last followed, and one key says that it is theirs. Any other key is a no.
import type { AskAboutConfig } from '../../gateway/config/trusted-config.ts';
import type { CliContext } from '../cli-context.ts';
import { askKey } from '../terminal/ask-person.ts';
import { lineDiff } from '../terminal/line-diff.ts';
import { printable } from '../terminal/printable.ts';

const maxLines = 30;

/** Null: nobody is there to be asked. */
export function approvingPerson(context: Pick<CliContext, 'isTerminal' | 'stdin' | 'say'>): AskAboutConfig | null {
  if (!context.isTerminal || context.stdin.isTTY !== true) return null;
  return async ({ what, before, now }) => {
    const changed = lineDiff(before ?? '', now);
    const rest = changed.length - maxLines;
    const text = [
      `sallyport: ${printable(what)}.`,
      before === null ? 'It says:' : 'What changed since it was last followed:',
      ...changed.slice(0, maxLines).map((line) => `  ${printable(line)}`),
      ...(rest > 0 ? [`  … and ${rest} more lines: read the file before you say yes`] : []),
      ...(changed.length === 0 ? ['  nothing'] : []),
      'Is it yours? y follows it, any other key stops here.',
    ].join('\n');
    return /^y$/i.test(await askKey(context.stdin, () => context.say(text)));
  };
}
