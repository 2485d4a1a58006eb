// The command line as the program itself describes it, for the pages that tell of it. Runs no command.
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { createContext } from '../../../src/cli/cli-context.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { exitCodeHelp } from '../../../src/cli/terminal/exit-code.ts';

export interface Leaf {
  /** `secret set`, without `sallyport`. */
  readonly words: string;
  /** As the list of commands has it. */
  readonly summary: string;
  readonly command: Command;
}

const silent = { write: () => true };
export const program = await buildProgram(
  createContext({ env: {}, cwd: '/', stdin: Readable.from([]), stdout: silent, stderr: silent }),
);

/** The commands that do something and are for people: `secret set`, not `secret`, nor what the gateway calls itself. */
export const leaves: readonly Leaf[] = leavesOf(program, []);

function leavesOf(command: Command, words: readonly string[]): Leaf[] {
  const helper = command.createHelp();
  const below = helper.visibleCommands(command).filter((one) => one.name() !== 'help');
  if (below.length === 0) return [{ words: words.join(' '), summary: helper.subcommandDescription(command), command }];
  return below.flatMap((one) => leavesOf(one, [...words, one.name()]));
}

/** What `sallyport COMMAND --help` prints, without what is the same for every command. */
export function helpOf(command: Command): string {
  let text = '';
  command.configureHelp({ helpWidth: 110, showGlobalOptions: false });
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text
    .replace(exitCodeHelp, '')
    .replace(/^ +-h, --help.*\n/m, '')
    .replace(/^Options:\n(?! )\n?/m, '')
    .trim();
}

/** The numbers and their meaning, as every help text ends. */
export function exitCodeLines(): [code: string, meaning: string][] {
  return [...exitCodeHelp.matchAll(/^ {2}(\d+|run) {2}(.+)$/gm)].map(([, code, meaning]) => [code!, meaning!]);
}
