// A machine with `sallyport` on it, for tests of `sallyport run`: the built command where every user can read it, users with a
// home and a project each, and a far side on loopback. Commands are run as root or as an ordinary user.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { copyBuiltDist } from './built-dist.ts';
import { asUser } from './namespace.ts';
import { openTerminal, type Terminal } from './open-terminal.ts';
import { type PtyRun, type PtyStep, runAtTerminal } from './pty.ts';
import { type ClientRun, runClient } from './run-client.ts';

export type RunUser = 'root' | 'an ordinary user';

export const runUsers: readonly RunUser[] = ['root', 'an ordinary user'];

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Default: the project. */
  readonly cwd?: string;
}

export interface RunGround {
  homeOf(user: RunUser): string;
  projectOf(user: RunUser): string;
  stateOf(user: RunUser): string;
  /** `sallyport …` to its end. */
  sallyport(user: RunUser, args: readonly string[], options?: RunOptions): Promise<ClientRun>;
  /** Starts it and does not wait. */
  start(user: RunUser, args: readonly string[], options?: RunOptions): RunningCommand;
  /** `sallyport …` at a terminal, where somebody types. */
  atTerminal(user: RunUser, args: readonly string[], steps: readonly PtyStep[], options?: RunOptions): Promise<PtyRun>;
  /** The same, open until the test ends it. */
  openTerminal(user: RunUser, args: readonly string[], options?: RunOptions): Terminal;
  /** Every record that the user's gateways have written. */
  journal(user: RunUser): Record<string, unknown>[];
  remove(): void;
}

export interface RunningCommand {
  readonly pid: number;
  output(): string;
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const uids: Readonly<Record<RunUser, number>> = { root: 0, 'an ordinary user': 54321 };

/** `config`: the policy of every user, without `version`. */
export function makeRunGround(config: Readonly<Record<string, unknown>>): RunGround {
  const ground = mkdtempSync(join(tmpdir(), 'sallyport-run-'));
  chmodSync(ground, 0o755);
  const main = layPackage(join(ground, 'package'));
  const folderOf = (user: RunUser, name: string): string => join(ground, user.replaceAll(' ', '-'), name);
  for (const user of runUsers) {
    for (const folder of ['', 'home', 'home/project']) {
      mkdirSync(folderOf(user, folder), { mode: 0o755 });
      chownSync(folderOf(user, folder), uids[user], uids[user]);
    }
    writeFileSync(folderOf(user, 'sallyport.yaml'), stringify({ version: 1, ...config }));
  }
  const commandOf = (user: RunUser, args: readonly string[]): [string, ...string[]] => {
    const command = [process.execPath, main, ...args] as [string, ...string[]];
    return user === 'root' ? command : ([...asUser(uids[user]), ...command] as unknown as [string, ...string[]]);
  };
  const surroundings = (user: RunUser, options: RunOptions) => ({
    cwd: options.cwd ?? folderOf(user, 'home/project'),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folderOf(user, 'home'),
      SALLYPORT_HOME: folderOf(user, 'home/state'),
      SALLYPORT_CONFIG: folderOf(user, 'sallyport.yaml'),
      LANG: 'C.UTF-8',
      ...options.env,
    },
  });
  return {
    homeOf: (user) => folderOf(user, 'home'),
    projectOf: (user) => folderOf(user, 'home/project'),
    stateOf: (user) => folderOf(user, 'home/state'),
    sallyport(user, args, options = {}) {
      const [program, ...rest] = commandOf(user, args);
      return runClient(program, rest, { timeoutMs: 40_000, ...options, ...surroundings(user, options) });
    },
    start(user, args, options = {}) {
      const [program, ...rest] = commandOf(user, args);
      const child = spawn(program, rest, { ...surroundings(user, options), stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          text += chunk;
        });
      }
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
      return { pid: child.pid!, output: () => text, ended, kill: (signal) => child.kill(signal) };
    },
    atTerminal(user, args, steps, options = {}) {
      const { cwd, env } = surroundings(user, options);
      return runAtTerminal(commandOf(user, args), steps, { folder: cwd, environment: env });
    },
    openTerminal(user, args, options = {}) {
      const { cwd, env } = surroundings(user, options);
      return openTerminal(commandOf(user, args), { folder: cwd, environment: env });
    },
    journal: (user) => readJournals(folderOf(user, 'home/state')),
    remove: () => rmSync(ground, { recursive: true, force: true }),
  };
}

/** A file whose folder is private to whoever made it, opened for the ordinary user. */
export function readableByAll(path: string): string {
  chmodSync(dirname(path), 0o755);
  chmodSync(path, 0o644);
  return path;
}

/** The package as it would be installed: nothing in it is a link into the clone, which others may not be able to read. */
function layPackage(folder: string): string {
  mkdirSync(folder, { mode: 0o755 });
  copyBuiltDist(join(folder, 'dist'));
  for (const name of ['config', 'dashboard', 'package.json', 'node_modules/koffi', 'node_modules/@koromix']) {
    cpSync(join(root, name), join(folder, name), { recursive: true, dereference: true });
  }
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return join(folder, 'dist', 'main.cjs');
}

function readJournals(state: string): Record<string, unknown>[] {
  return (
    readdirSync(state, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      // What is behind the last line break is being written.
      .flatMap((name) => readFileSync(join(state, name), 'utf8').split('\n').slice(0, -1))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  );
}
