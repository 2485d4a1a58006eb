// Writes docs/commands.md out of the program: every command with its arguments, options and examples, and the exit codes.
import { exitCodeLines, helpOf, leaves } from './program.ts';

export function commandsPage(): string {
  const list = leaves.map(({ words, summary }) => `- [\`${words}\`](#${anchorOf(words)}): ${summary}`);
  const codes = exitCodeLines().map(([code, meaning]) => `- \`${code}\`: ${meaning}`);
  return [
    '# Commands',
    '',
    'Made from the program by `npm run docs`, and checked. `sallyport COMMAND --help` prints the same.',
    '',
    'Every command also takes `--json`, which prints data, and `--help`. `NO_COLOR` is respected.',
    '',
    ...list,
    '',
    '## Exit codes',
    '',
    '`run` stands for the code of the command that was run.',
    '',
    ...codes,
    '',
    ...leaves.flatMap(({ words, command }) => [`## sallyport ${words}`, '', '```text', helpOf(command), '```', '']),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}

function anchorOf(words: string): string {
  return `sallyport-${words.replaceAll(' ', '-')}`;
}
