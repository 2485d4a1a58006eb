// The completion script for fish: one line for each command and option. Every word in it comes from our own program.
import { type Completed, type CompletedCommand, everyCommand } from './completion-tree.ts';

export function fishCompletion(tree: CompletedCommand): string {
  const all = everyCommand(tree);
  const lines = all.flatMap((command) => {
    const here = `__sallyport_is ${command.path}`.trim();
    return [
      ...command.commands.map((one) => line(here, `-a ${lastWord(one)} -d ${quoted(one.about)}`)),
      ...(command.argument === null ? [] : [line(here, offeredFor(command.argument))]),
      ...command.options.map(({ names, about, value }) => {
        const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
        const takes = value === null ? '' : ` ${offeredFor(value)}`;
        return line(here, `${flags.join(' ')}${takes} -d ${quoted(about)}`);
      }),
    ];
  });
  return `# fish completion for sallyport
# The command that the words so far have led to; -- where a command of its own has begun.
function __sallyport_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        if test "$word" = --
            echo -- --
            return
        end
        switch "$at/$word"
${all
  .filter(({ path }) => path !== '')
  .map(stepInto)
  .join('\n')}
        end
    end
    echo "$at"
end
function __sallyport_is
    set -l at (__sallyport_at)
    test "$at" = "$argv"
end
# That command is completed as it would be by itself.
function __sallyport_beyond
    set -l words (commandline -opc)
    set -e words[1..(contains -i -- -- $words)]
    set -l typed (string escape -- $words) (commandline -ct)
    if test "$typed" = ''
        __fish_complete_command
    else
        complete --do-complete="$typed"
    end
end
complete -c sallyport -f
complete -c sallyport -n '__sallyport_is --' -a '(__sallyport_beyond)'
${lines.join('\n')}
`;
}

function stepInto({ path }: CompletedCommand): string {
  const above = path.split(' ').slice(0, -1).join(' ');
  return `            case '${above}/${path.slice(above.length).trim()}'
                set at '${path}'`;
}

function line(here: string, what: string): string {
  return `complete -c sallyport -n ${quoted(here)} ${what}`;
}

/** What an option or an argument takes: with words of our own, files are none of them. */
function offeredFor(completed: Completed): string {
  switch (completed.kind) {
    case 'words':
      return `-x -a ${quoted(completed.words.join(' '))}`;
    case 'names':
      return `-x -a ${quoted(`(command sallyport __complete ${completed.of} 2>/dev/null)`)}`;
    case 'programs':
      return `-a ${quoted('(__fish_complete_command)')}`;
    default:
      return '-r -F';
  }
}

function lastWord({ path }: CompletedCommand): string {
  return path.split(' ').at(-1)!;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
