// Words for a POSIX shell that it takes as they are. The launchers hand scripts to sh; nothing a user or a plan says may
// be read as shell.

/** Between single quotes nothing is special but the quote itself. */
export function quoteForShell(word: string): string {
  if (word.includes('\0')) throw new Error('a word for a program cannot hold a NUL byte');
  return `'${word.replaceAll("'", "'\\''")}'`;
}
