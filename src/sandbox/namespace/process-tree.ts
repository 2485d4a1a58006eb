// Who is below a process, as /proc tells it. A launcher uses it to find the command inside a sandbox from outside: ids
// inside are others, and the processes between do not pass signals on.
import { readdirSync, readFileSync } from 'node:fs';

/** Ids as this process sees them. Empty when the process is gone. */
export function childrenOf(pid: number): readonly number[] {
  const listed = read(`/proc/${pid}/task/${pid}/children`);
  if (listed !== null) return listed.split(' ').filter(Boolean).map(Number);
  // A kernel without CONFIG_PROC_CHILDREN, or a process that is gone.
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => parentOf(candidate) === pid);
}

/** The id of a process in its own process namespace; null when it is gone. */
export function innermostPid(pid: number): number | null {
  const line = /^NSpid:\s*(.*)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return line === undefined ? null : Number(line.split(/\s+/).at(-1));
}

/** The child that was started first: orphans come to an init process too, but later. */
export function firstChildOf(pid: number): number | null {
  const known = childrenOf(pid).flatMap((child) => {
    const inner = innermostPid(child);
    return inner === null ? [] : [{ child, inner }];
  });
  return known.sort((a, b) => a.inner - b.inner)[0]?.child ?? null;
}

function parentOf(pid: number): number | null {
  // The name stands in brackets and may hold anything, brackets too: what follows the last one is plain.
  const stat = read(`/proc/${pid}/stat`);
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
