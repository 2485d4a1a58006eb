// `sallyport completion`: a script that teaches a shell our commands and options, made from the program itself. Beside it, hidden,
// what the script asks for the names of sandboxes, credentials and questions: it prints plain names, or nothing.
import { Argument, type Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { bashCompletion, zshCompletion } from './completion/completion-bash.ts';
import { fishCompletion } from './completion/completion-fish.ts';
import { completionTree, type NameList, nameLists } from './completion/completion-tree.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

export function addCompletionCommand(program: Command, context: CliContext): void {
  program
    .command('completion')
    .summary('teach your shell the commands and options')
    .description('Prints a script that lets the Tab key complete commands, options and the names of sandboxes.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      `
Where to put it:
  bash  ~/.local/share/bash-completion/completions/sallyport, or a line in ~/.bashrc: eval "$(sallyport completion bash)"
  zsh   a line in ~/.zshrc: eval "$(sallyport completion zsh)"
  fish  ~/.config/fish/completions/sallyport.fish

Examples:
  sallyport completion bash > ~/.local/share/bash-completion/completions/sallyport
  sallyport completion zsh
  sallyport completion fish > ~/.config/fish/completions/sallyport.fish`,
    )
    .action((shell: keyof typeof scripts) => context.print(scripts[shell](completionTree(program)).trimEnd()));
  program
    .command('__complete', { hidden: true })
    .addArgument(new Argument('<list>').choices(nameLists))
    .action(async (list: NameList) => {
      for (const name of await namesOf(context, list)) context.print(name);
    });
}

/** Guards: bash expands the words it is given to complete, so a name that is more than a name would be run. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

async function namesOf(context: CliContext, list: NameList): Promise<string[]> {
  try {
    return (await askNames(context, list)).filter((name) => plainName.test(name));
  } catch {
    // No gateway runs: there is nothing to complete, and the line that is being typed is no place to say so.
    return [];
  }
}

async function askNames({ admin }: CliContext, list: NameList): Promise<string[]> {
  type Named = readonly { readonly id?: string; readonly name?: string }[];
  const place = { sandboxes: 'containers', credentials: 'credentials', questions: 'questions' }[list];
  const answer = await admin.call<Record<string, Named>>('GET', `/internal/${place}`);
  return (answer[place] ?? []).map(({ id, name }) => id ?? name ?? '');
}
