// The options under which a path is mounted. In its own user namespace a process may add options but not remove any, and
// mount(8) removes what is not repeated: so all of them are repeated.
import { readFileSync } from 'node:fs';

const kept = new Set(['nosuid', 'nodev', 'noexec']);

/** Options for `mount -o` that bind a path read-only and keep what is locked. */
export function readOnlyBindOptions(path: string, mountInfo = readFileSync('/proc/self/mountinfo', 'utf8')): string {
  let best = { length: -1, options: '' };
  for (const line of mountInfo.split('\n')) {
    const [, , , , point, options] = line.split(' ');
    if (point === undefined || options === undefined) continue;
    const folder = unescapeOctal(point);
    const covers = path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
    // Of two at the same place the later one lies on top.
    if (covers && folder.length >= best.length) best = { length: folder.length, options };
  }
  return ['remount', 'bind', 'ro', ...best.options.split(',').filter((option) => kept.has(option))].join(',');
}

export function isMountPoint(path: string, mountInfo = readFileSync('/proc/self/mountinfo', 'utf8')): boolean {
  return mountInfo.split('\n').some((line) => unescapeOctal(line.split(' ')[4] ?? '') === path);
}

/** As the kernel writes it: blanks and backslashes as \040 and the like. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
