// How bubblewrap gets onto this machine: the command of its own package manager. Only says it; runs nothing.
import { findTool } from '../namespace/find-tool.ts';

/** The first that is there is the machine's own: some have a second one as a package. */
const managers: readonly (readonly [program: string, ...args: string[]])[] = [
  ['apt-get', 'install', '-y', '--no-install-recommends', 'bubblewrap'],
  ['dnf', 'install', '-y', 'bubblewrap'],
  ['zypper', '--non-interactive', 'install', 'bubblewrap'],
  ['pacman', '-S', '--noconfirm', 'bubblewrap'],
  ['apk', 'add', 'bubblewrap'],
];

/** Program, by its path, and arguments. Null: there is no package manager that we know. */
export function bubblewrapPackage(find: (name: string) => string | null = findTool): readonly string[] | null {
  for (const [program, ...args] of managers) {
    const file = find(program);
    if (file !== null) return [file, ...args];
  }
  return null;
}

/** What a person types. */
export function howToInstallBubblewrap(find: (name: string) => string | null = findTool): string {
  const [file, ...args] = bubblewrapPackage(find) ?? [];
  if (file === undefined) return 'install the package bubblewrap';
  const sudo = process.geteuid?.() === 0 ? '' : 'sudo ';
  return `${sudo}${file.slice(file.lastIndexOf('/') + 1)} ${args.join(' ')}`;
}
