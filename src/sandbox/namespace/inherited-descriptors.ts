// Open files that this process was given by whoever started it and that a child would get too. Node marks its own and
// the first sixteen as not to be inherited; any other would reach the command inside the sandbox.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;

/** Descriptors above the standard three that would survive an exec. */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd))
    .sort((a, b) => a - b);
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0;
  } catch {
    // Gone: it was the one that read the folder. Still there and unreadable: taken for one that would be inherited.
    return !existsSync(`/proc/self/fdinfo/${fd}`);
  }
}
