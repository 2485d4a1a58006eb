// Listens on a Unix socket path so that no moment exists in which another user could connect, and so that a socket
// left behind by a crash is cleared away while a living one never is. Takes no decision about who may talk.
import { once } from 'node:events';
import { chmodSync, lstatSync, rmSync, type Stats, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { takeLock } from '../files/file-lock.ts';
import { HomeInUse } from '../files/home-in-use.ts';

/** sockaddr_un.sun_path is 108 bytes with its final NUL; a longer name would be cut off silently. */
const maxPathBytes = 107;

export interface UnixListenOptions {
  /** Who listens there, for the error when somebody already does. */
  readonly occupant?: string;
  readonly mode?: number;
}

/** The directory must already be private (`ensurePrivateDirectory`). Resolves when the socket accepts. */
export async function listenOnUnixSocket(server: Server, path: string, options: UnixListenOptions = {}): Promise<void> {
  const occupant = options.occupant ?? 'a gateway';
  const mode = options.mode ?? 0o600;
  const bytes = Buffer.byteLength(path);
  if (bytes > maxPathBytes) {
    throw new Error(
      `the socket path ${path} has ${bytes} bytes and Linux allows ${maxPathBytes}. Use a shorter SALLYPORT_HOME.`,
    );
  }
  // Two starts may both find the same stale socket; without the lock the slower one would remove what the quicker one
  // has just opened.
  const lockPath = `${path}.lock`;
  const unlock = takeLock(lockPath);
  if (unlock === null) throw alreadyRunning(path, occupant);
  try {
    await clearStale(path, occupant);
    await bind(server, path, mode);
    chmodSync(path, mode);
  } finally {
    unlinkSync(lockPath);
    unlock();
  }
}

/** A socket that somebody else has bound and keeps: systemd's, which starts us when the first client comes. */
export async function listenOnDescriptor(server: Server, fd: number): Promise<void> {
  server.listen({ fd });
  await once(server, 'listening');
}

function bind(server: Server, path: string, mode: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The file is made inside listen(), synchronously: with this umask it is born closed to everyone else.
    const before = process.umask(0o777 & ~mode);
    try {
      server.listen(path, () => {
        server.removeListener('error', reject);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
}

async function clearStale(path: string, occupant: string): Promise<void> {
  const found = look(path);
  if (found === null) return;
  if (!found.isSocket()) {
    throw new Error(`${path} is in the way and is not a socket. Look at what it is, then move it away.`);
  }
  if (found.uid !== process.geteuid?.()) {
    throw new Error(`${path} is a socket of user ${found.uid}, not ours. Find out who put it there, then remove it.`);
  }
  if (await answers(path)) throw alreadyRunning(path, occupant);
  rmSync(path, { force: true });
}

/** Only a refused connection proves that nobody listens; any other failure counts as somebody. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', (error) => {
      if (hasCode(error, 'ECONNREFUSED') || hasCode(error, 'ENOENT')) resolve(false);
      else if (hasCode(error, 'EAGAIN')) resolve(true);
      else reject(error);
    });
  });
}

function alreadyRunning(path: string, occupant: string): Error {
  return new HomeInUse(
    `${occupant} is already running: it listens on ${path}. Stop it first, or use another SALLYPORT_HOME.`,
  );
}

function look(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
