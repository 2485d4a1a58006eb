// Quotes words for a POSIX shell. The launchers hand scripts to sh, and people paste what we print; nothing that a user or a
// plan says may be read as shell.

/** Between single quotes nothing is special but the quote itself. */
export function quoteForShell(word: string): string {
  if (word.includes('\0')) throw new Error('a word for a program cannot hold a NUL byte');
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The same, and a word that means nothing else as it is: for lines that people read. */
export function quoteIfNeeded(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoteForShell(word);
}
