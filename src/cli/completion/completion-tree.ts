// What there is to complete, read off the program itself: commands, options, choices, and which arguments name a sandbox, a
// credential or a question. Hidden commands and options stay hidden.
import type { Argument, Command, Option } from 'commander';

/** What may stand in a place: words, names that the gateway knows, files, or a program and its arguments. */
export type Completed =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'names'; readonly of: NameList }
  | { readonly kind: 'files' | 'programs' | 'anything' };

export const nameLists = ['sandboxes', 'credentials', 'questions'] as const;
export type NameList = (typeof nameLists)[number];

export interface CompletedOption {
  /** `--config`, and `-c` where there is one. */
  readonly names: readonly string[];
  readonly about: string;
  /** Null: it takes no value. */
  readonly value: Completed | null;
}

export interface CompletedCommand {
  /** `secret set`; the program itself: empty. */
  readonly path: string;
  readonly about: string;
  readonly options: readonly CompletedOption[];
  readonly commands: readonly CompletedCommand[];
  /** Of its first argument; null: it takes none. */
  readonly argument: Completed | null;
}

/** Of these the argument, or the value of the option, is a name that the gateway knows. */
const named: Readonly<Record<string, NameList>> = {
  unregister: 'sandboxes',
  renew: 'sandboxes',
  'secret set': 'credentials',
  'secret rm': 'credentials',
  approve: 'questions',
  deny: 'questions',
  '--sandbox': 'sandboxes',
  '--credential': 'credentials',
};

export function completionTree(command: Command, path = ''): CompletedCommand {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const [argument] = command.registeredArguments;
  return {
    path,
    about: command.summary() || command.description(),
    options: [...help.visibleOptions(command), ...(path === '' ? [] : help.visibleGlobalOptions(command))].map(
      asOption,
    ),
    commands: below.map((one) => completionTree(one, `${path} ${one.name()}`.trim())),
    argument: argument === undefined ? null : argumentOf(argument, path),
  };
}

function asOption(option: Option): CompletedOption {
  const { long, short, description, required, optional } = option;
  const names = [long, short].filter((name) => name !== undefined && name !== null);
  return { names, about: description, value: required || optional ? optionValue(option) : null };
}

function optionValue({ argChoices, long, flags }: Option): Completed {
  if (argChoices !== undefined) return { kind: 'words', words: argChoices };
  const of = named[long ?? ''];
  if (of !== undefined) return { kind: 'names', of };
  return { kind: /<[^>]*(?:FILE|PATH|FOLDER|DIRECTORY|DIR|SOCKET)/i.test(flags) ? 'files' : 'anything' };
}

function argumentOf(argument: Argument, path: string): Completed {
  if (argument.argChoices !== undefined) return { kind: 'words', words: argument.argChoices };
  const of = named[path];
  if (of !== undefined) return { kind: 'names', of };
  if (argument.name() === 'command') return { kind: 'programs' };
  return { kind: /file|path|folder|directory/i.test(argument.name()) ? 'files' : 'anything' };
}

/** It and everything below it. */
export function everyCommand(tree: CompletedCommand): readonly CompletedCommand[] {
  return [tree, ...tree.commands.flatMap(everyCommand)];
}
