// Where bubblewrap is missing and nobody asked for another launcher: installs it with the machine's own package manager where
// that takes no password, else asks a person once. Without it everything goes on with the launcher that needs no package, so
// nothing here may fail, and what was declined or did not work is not tried again.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTool } from '../../sandbox/namespace/find-tool.ts';
import { bubblewrapPackage } from '../../sandbox/run/bubblewrap-package.ts';
import type { CliContext } from '../cli-context.ts';
import { openQuestions } from '../terminal/ask-person.ts';
import { ProgressLine } from '../terminal/progress-line.ts';

const patienceMs = 180_000;

export async function offerBubblewrap(context: CliContext, find = findTool): Promise<void> {
  if (find('bwrap') !== null) return;
  const command = bubblewrapPackage(find);
  const note = join(context.places.home, 'cache', 'without-bubblewrap');
  if (command === null || existsSync(note)) return;
  const sudo = find('sudo');
  const isRoot = process.geteuid?.() === 0;
  const asRoot = isRoot ? [] : sudo === null ? null : [sudo, '-n', '--'];
  const needsPassword = asRoot !== null && !isRoot && !(await ends([...asRoot, 'true']));
  if (asRoot === null) return;
  if (!needsPassword) {
    context.say(`sallyport: bubblewrap is not installed: installing it (${inWords([...asRoot, ...command])})`);
    if (await install(context, asRoot, command)) return;
    context.say('sallyport: bubblewrap could not be installed, and will not be tried again; going on without it');
  } else if (context.isTerminal && context.stdin.isTTY === true) {
    const words = [sudo as string, '--', ...command];
    const questions = openQuestions(context.stdin);
    const agreed = await questions
      .askYesOrNo(`bubblewrap is not installed. Install it (${inWords(words)})?`, true)
      .catch(() => false)
      .finally(() => questions.close());
    // At the terminal: sudo asks for the password.
    if (agreed && (await ends(words, 'inherit'))) return;
    context.say('sallyport: going on without bubblewrap; you will not be asked again');
  } else return;
  remember(note);
}

async function install(context: CliContext, asRoot: readonly string[], command: readonly string[]): Promise<boolean> {
  const progress = new ProgressLine(context);
  progress.show('installing bubblewrap');
  try {
    if (await ends([...asRoot, ...command])) return true;
    // A fresh image has no list of packages yet.
    const [program] = command as [string];
    return (
      program.endsWith('/apt-get') && (await ends([...asRoot, program, 'update'])) && ends([...asRoot, ...command])
    );
  } finally {
    progress.clear();
  }
}

/** True when it ended well. */
function ends(words: readonly string[], output: 'ignore' | 'inherit' = 'ignore'): Promise<boolean> {
  const [program, ...args] = words as [string, ...string[]];
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
  const child = spawn(program, args, { stdio: [output, output, output], env, cwd: '/', timeout: patienceMs });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

function remember(note: string): void {
  try {
    mkdirSync(join(note, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(note, 'Remove this file, and `sallyport run` offers to install bubblewrap again.\n', { mode: 0o600 });
  } catch {
    // Then it is offered once more.
  }
}

function inWords(words: readonly string[]): string {
  return words.map((word) => (word.startsWith('/') ? word.slice(word.lastIndexOf('/') + 1) : word)).join(' ');
}
