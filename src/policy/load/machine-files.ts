// What a policy may learn from the machine it runs on: environment, a few files, one program. An interface, so that
// tests bring a machine of their own. Never reads from the working directory: a sandbox may write there.
import { execFile } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { homedir } from 'node:os';

export interface MachineFiles {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Whether logins for registries in the user's own files may be used. */
  readonly registryLogins?: boolean;
  /** null: not there, not readable, not a regular file, or too large to be configuration. */
  readText(path: string): string | null;
  /** Names in a directory, sorted; empty when there is none. */
  listDirectory(path: string): readonly string[];
  /** Standard output of a program that ended well within its time; null otherwise. */
  run(argv: readonly string[]): Promise<string | null>;
}

const maxFileBytes = 4 * 1024 * 1024;
const runTimeoutMs = 5000;
const maxOutputBytes = 64 * 1024;

export function thisMachine(env: NodeJS.ProcessEnv = process.env): MachineFiles {
  return { env, home: env.HOME || homedir(), readText, listDirectory, run: (argv) => run(argv, quietEnvironment(env)) };
}

// A program gets what it needs to find its configuration, not whatever else the gateway was started with.
function quietEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const needed =
    /^(?:PATH|HOME|USER|LOGNAME|LANG|TMPDIR|XDG_CONFIG_HOME|PREFIX|npm_config_(?:registry|userconfig|globalconfig|prefix))$/i;
  return Object.fromEntries(Object.entries(env).filter(([name]) => needed.test(name)));
}

function readText(path: string): string | null {
  let fd: number | null = null;
  try {
    // Not blocking, so that a named pipe cannot hold the start-up.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > maxFileBytes) return null;
    const bytes = Buffer.alloc(stat.size);
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(fd, bytes, filled, bytes.length - filled, null);
      if (count === 0) break;
      filled += count;
    }
    return bytes.toString('utf8', 0, filled);
  } catch {
    return null;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function listDirectory(path: string): readonly string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

function run(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  const [program, ...rest] = argv;
  if (!program) return Promise.resolve(null);
  return new Promise((resolve) => {
    // From `/`, because npm would otherwise take the registry from the .npmrc of whatever project we stand in.
    const options = { cwd: '/', env, timeout: runTimeoutMs, maxBuffer: maxOutputBytes, killSignal: 'SIGKILL' as const };
    const child = execFile(program, rest, options, (error, stdout) => resolve(error ? null : stdout));
    child.stdin?.end();
  });
}
