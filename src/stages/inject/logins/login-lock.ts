// One at a time for a login in a file: a directory of an agreed name, made by who may go on and removed afterwards. This is
// how Claude Code locks its own login (proper-lockfile), so that a claude outside and the gateway do not both spend the
// same refresh token. Leaves nothing behind; what a crash leaves is taken for gone when nobody has touched it for a while.
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises';
import { SourceError } from '../sources/secret-source.ts';

/** Claude Code's own numbers. */
const staleMs = 10_000;
const touchEveryMs = 3_000;
const lookEveryMs = 100;
/** A refresh takes a second or two. */
const patienceMs = 20_000;

/** Runs `work` while it holds all of these directories, in this order. */
export async function withLocks<Result>(paths: readonly string[], work: () => Promise<Result>): Promise<Result> {
  const [first, ...others] = paths;
  if (first === undefined) return work();
  const letGo = await take(first);
  try {
    return await withLocks(others, work);
  } finally {
    await letGo();
  }
}

async function take(path: string): Promise<() => Promise<void>> {
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    const code = await attempt(() => mkdir(path, 0o700));
    if (code === null) return hold(path);
    // Where no lock can be made, nothing can be saved either, and that is told where it happens.
    if (code !== 'EEXIST') return async () => {};
    // One that cannot be removed (a link, a folder with something in it) is held by whoever put it there.
    if ((await isStale(path)) && (await attempt(() => rmdir(path))) === null) continue;
    if (performance.now() >= giveUpAt)
      throw new SourceError(`another process is renewing the login (${path} is there)`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

function hold(path: string): () => Promise<void> {
  const timer = setInterval(() => {
    const now = new Date();
    void attempt(() => utimes(path, now, now));
  }, touchEveryMs).unref();
  return async () => {
    clearInterval(timer);
    await attempt(() => rmdir(path));
  };
}

async function isStale(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    return found.isDirectory() && Date.now() - found.mtimeMs > staleMs;
  } catch {
    return false;
  }
}

/** The code of what went wrong; null: nothing did. */
async function attempt(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  }
}
