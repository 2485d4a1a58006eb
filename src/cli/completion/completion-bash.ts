// The completion script for bash, which zsh can use as well (bashcompinit): so no variable in it may have a name that is special
// there. It needs nothing but the shell itself. Every word in it comes from our own program; names from the gateway are asked
// for when they are needed, and are plain ones.
import { type Completed, type CompletedCommand, everyCommand } from './completion-tree.ts';

export function bashCompletion(tree: CompletedCommand): string {
  return `# bash completion for sallyport
${bashFunction(tree)}# Where nothing is offered: files.
complete -o default -F _sallyport sallyport
`;
}

function bashFunction(tree: CompletedCommand): string {
  const all = everyCommand(tree);
  return `_sallyport() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' i word names='' below='' flags=''
  COMPREPLY=()
  # bash takes --mode=bot apart.
  if [ "$cur" = = ]; then cur=''; elif [ "$prev" = = ]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [ "$word" = -- ]; then
      # What follows is a command of its own: its program, then files.
      if ((i == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); fi
      return
    fi
    case "$at/$word" in
${all
  .filter(({ path }) => path !== '')
  .map(stepInto)
  .join('\n')}
    esac
  done
  case "$at" in
${all.map(offerOf).join('\n')}
  esac
  case "$at/$prev" in
${all.flatMap(valuesOf).join('\n')}
  esac
  if [ -z "$names" ]; then
    case "$cur" in
      -*) names="$flags" ;;
      *) names="$below" ;;
    esac
  fi
  case "$names" in
    '' | @files) ;;
    @programs) COMPREPLY=($(compgen -c -- "$cur")) ;;
    @*) COMPREPLY=($(compgen -W "$(command sallyport __complete "\${names#@}" 2>/dev/null)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$names" -- "$cur")) ;;
  esac
}
`;
}

/** zsh runs the function of bash, once it has been told how; what follows `--` it completes as it always does. */
export function zshCompletion(tree: CompletedCommand): string {
  return `# zsh completion for sallyport
(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }
autoload -U +X bashcompinit && bashcompinit
${bashFunction(tree)}_sallyport_in_zsh() {
  local -i at=$words[(i)--]
  if (( at < CURRENT )); then
    words=("\${(@)words[at+1,-1]}")
    (( CURRENT -= at ))
    _normal
  else
    _bash_complete -o default -F _sallyport
  fi
}
compdef _sallyport_in_zsh sallyport
`;
}

function stepInto({ path }: CompletedCommand): string {
  const words = path.split(' ');
  return `      '${[words.slice(0, -1).join(' '), words.at(-1)].join('/')}') at='${path}' ;;`;
}

function offerOf({ path, commands, options, argument }: CompletedCommand): string {
  const names = commands.map((one) => one.path.split(' ').at(-1)).join(' ');
  const below = commands.length > 0 ? names : argument === null ? '' : wordsOf(argument);
  return `    '${path}') below='${below}' flags='${options.flatMap(({ names }) => names).join(' ')}' ;;`;
}

function valuesOf({ path, options }: CompletedCommand): string[] {
  return options.flatMap(({ names, value }) =>
    value === null ? [] : [`    ${names.map((name) => `'${path}/${name}'`).join('|')}) names='${wordsOf(value)}' ;;`],
  );
}

function wordsOf(completed: Completed): string {
  switch (completed.kind) {
    case 'words':
      return completed.words.join(' ');
    case 'names':
      return `@${completed.of}`;
    case 'anything':
      return '@files';
    default:
      return `@${completed.kind}`;
  }
}
