// Errors of the system (EACCES, ENOSPC …) as sentences: what could not be done, with which file, and what to do about it. Knows
// no command.

export interface SystemSentence {
  readonly message: string;
  readonly hint: string;
}

/** `place`: where it was, when the error does not say. Null: it is no error of the system, or one that says enough by itself. */
export function systemSentence(error: unknown, place?: string): SystemSentence | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  const { code } = error;
  const said = error as NodeJS.ErrnoException & { readonly dest?: string };
  const paths = [said.path, said.dest].filter((path) => typeof path === 'string');
  if (paths.length === 0 && place !== undefined) paths.push(place);
  const what = paths.length === 0 ? 'something' : paths.join(', or ');
  const found = sentences[code];
  if (found === undefined || said.syscall === undefined) return null;
  const [message, hint] = found;
  return { message: withName(message, what), hint: withName(hint, paths.at(-1) ?? '.') };
}

const sentences: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  EACCES: [
    'you may not use FILE: its permissions, or those of a folder above it, forbid it',
    'See whose it is: namei -l FILE',
  ],
  EPERM: [
    'the system does not let you change FILE',
    'See whose it is, and whether it is locked: namei -l FILE; lsattr FILE',
  ],
  ENOENT: ['FILE is not there', 'Check the path.'],
  ENOTDIR: ['a part of FILE is a file and no folder', 'Check the path.'],
  EISDIR: ['FILE is a folder, and a file is needed', 'Name the file.'],
  EROFS: ['FILE is on a file system that is read-only', 'Choose another place (SALLYPORT_HOME), or mount it to write.'],
  ENOSPC: [
    'the disk is full: FILE could not be written',
    'Make room, and try again. To see where there is none: df -h FILE; df -i FILE',
  ],
  EDQUOT: [
    'your quota of the disk is used up: FILE could not be written',
    'Make room, and try again. To see it: quota -s',
  ],
  EMFILE: ['this process has too many open files', 'Raise the limit: ulimit -n'],
  ENFILE: ['this machine has too many open files', 'See what holds them: sudo lsof | wc -l'],
  EADDRINUSE: [
    'another program already listens there (FILE)',
    'Stop it, or choose another address in the configuration (listen).',
  ],
  EADDRNOTAVAIL: [
    'this machine has no such address to listen on (FILE)',
    'Choose one of `ip address` in the configuration (listen).',
  ],
};

/** Not by a pattern: a name may hold anything. */
function withName(sentence: string, name: string): string {
  return sentence.split('FILE').join(name);
}
