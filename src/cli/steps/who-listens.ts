// Which process listens on a Unix socket, as the kernel tells it: for `up`, where another gateway has the place already. Asks
// that process nothing.
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { readPeerCredentials } from '../../kit/process/peer-credentials.ts';

export interface Listener {
  readonly pid: number;
  /** Null: not to be seen from here (another pid namespace, another user). */
  readonly since: Date | null;
  /** Its program and first argument, without options: `sallyport up`. Empty: not to be seen. */
  readonly command: string;
}

/** Null: nobody does, or the kernel does not say who. */
export async function whoListens(path: string): Promise<Listener | null> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    const { pid } = await readPeerCredentials(socket);
    return pid === 0 ? null : { pid, since: startOf(pid), command: commandOf(pid) };
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

/** The folder of a process is made when it starts. */
function startOf(pid: number): Date | null {
  try {
    return statSync(`/proc/${pid}`).ctime;
  } catch {
    return null;
  }
}

/** Not the whole command line: it may hold what is nobody's business. */
function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const script = words.findIndex((word) => /(?:^|\/)(?:main\.cjs|sallyport)$/.test(word));
    const verb = words[script + 1] ?? '';
    return script >= 0 && /^[a-z-]+$/.test(verb) ? `sallyport ${verb}` : '';
  } catch {
    return '';
  }
}
