// A place to try launchers in: a working directory, a plan by hand, and a process of its own that launches, as root or as
// an ordinary user. Nothing of it outlives the test.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { LauncherName, Mount } from '../../src/sandbox/run/sandbox-plan.ts';
import { layKoffiBeside } from './koffi-beside.ts';
import type { DriverOrder } from './launch-driver.ts';
import { asUser } from './namespace.ts';

/** Somebody who is not in /etc/passwd and owns nothing but the ground. */
export const ordinaryUid = 54_321;

export interface LaunchOrder {
  readonly launcher?: LauncherName;
  readonly uid?: number;
  readonly command: readonly string[];
  readonly mounts?: readonly Mount[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Of the launching process itself. */
  readonly launcherEnvironment?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  readonly stdio?: 'terminal' | 'piped';
  readonly stopAt?: 'prepared';
  readonly onceStarted?: DriverOrder['onceStarted'];
  readonly standIn?: DriverOrder['standIn'];
  readonly door?: DriverOrder['door'];
  readonly input?: string;
}

export interface LaunchedRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What the launching process told: `prepared`, `namespace`, `started`, `ended`, `failed`, `hint`. */
  readonly told: Readonly<Record<string, unknown>>;
}

export interface LaunchGround {
  /** Belongs to the ordinary user; root may write there too. */
  readonly folder: string;
  write(name: string, content: string): string;
  run(order: LaunchOrder): Promise<LaunchedRun>;
  /** Starts and does not wait. `told` reads the next line of the launching process. */
  start(order: LaunchOrder): { readonly child: ChildProcess; told(): Promise<Record<string, unknown>> };
  /** The words that start the launching process, for a test that has its own way to start it. */
  words(order: LaunchOrder): readonly string[];
  remove(): void;
}

export function makeLaunchGround(): LaunchGround {
  const top = mkdtempSync(join(tmpdir(), 'sallyport-launch-'));
  chmodSync(top, 0o755);
  const driver = join(top, 'driver.mjs');
  buildSync({
    entryPoints: [fileURLToPath(new URL('./launch-driver.ts', import.meta.url))],
    outfile: driver,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  layKoffiBeside(top);
  const folder = join(top, 'work');
  mkdirSync(folder);
  chownSync(folder, ordinaryUid, ordinaryUid);
  // For a sandbox of root too: without capabilities even root writes only where everybody may, or where root is the owner.
  chmodSync(folder, 0o777);

  const words = (order: LaunchOrder): readonly string[] => {
    const launcher = order.launcher ?? 'bubblewrap';
    const whole: DriverOrder = {
      launcher,
      stdio: order.stdio ?? 'piped',
      plan: {
        id: 'by-hand',
        command: order.command,
        workingDirectory: order.workingDirectory ?? folder,
        environment: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin', HOME: folder, ...order.environment },
        mounts: [
          ...(launcher === 'bubblewrap' || launcher === 'namespaces' ? systemMounts(folder) : []),
          ...(order.mounts ?? []),
        ],
      },
      ...(order.stopAt !== undefined && { stopAt: order.stopAt }),
      ...(order.onceStarted !== undefined && { onceStarted: order.onceStarted }),
      ...(order.standIn !== undefined && { standIn: order.standIn }),
      ...(order.door !== undefined && { door: order.door }),
    };
    return [...(order.uid === undefined ? [] : asUser(order.uid)), process.execPath, driver, JSON.stringify(whole)];
  };
  const launch = (order: LaunchOrder): ChildProcess => {
    const [program, ...args] = words(order);
    return spawn(program!, args, {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...order.launcherEnvironment },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      // A process group of its own: should a sandbox reach that of its launcher, the test is not in it.
      detached: true,
    });
  };
  return {
    folder,
    words,
    write(name, content) {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      for (const path of new Set([dirname(file), file])) chownSync(path, ordinaryUid, ordinaryUid);
      return file;
    },
    async run(order) {
      const child = launch(order);
      (child.stdin as Writable).on('error', () => {}).end(order.input ?? '');
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      const [stdout, stderr, lines] = await Promise.all(
        [child.stdout, child.stderr, child.stdio[3]].map((stream) => text(stream as Readable)),
      );
      const told = lines!
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      return { code: await ended, stdout: stdout!, stderr: stderr!, told: Object.assign({}, ...told) };
    },
    start(order) {
      const child = launch(order);
      const lines = readLines(child.stdio[3] as Readable);
      return {
        child,
        async told() {
          const { value, done } = await lines.next();
          if (done === true) throw new Error('the launching process told nothing more');
          return JSON.parse(value) as Record<string, unknown>;
        },
      };
    },
    remove: () => rmSync(top, { recursive: true, force: true }),
  };
}

/** The host's system read-only and the working directory, much as the product plans it. */
function systemMounts(folder: string): readonly Mount[] {
  const links = ['bin', 'sbin', 'lib', 'lib64'].flatMap((name): Mount[] => {
    try {
      return [{ kind: 'link', target: `/${name}`, to: readlinkSync(`/${name}`) }];
    } catch {
      return [];
    }
  });
  return [
    { kind: 'read-only', source: '/usr', target: '/usr' },
    ...links,
    { kind: 'read-only', source: '/etc', target: '/etc' },
    { kind: 'empty', target: '/tmp' },
    { kind: 'read-write', source: folder, target: folder },
  ];
}

/** Ids of the processes that are in this network namespace, wherever they are in the tree. */
export function processesIn(networkNamespace: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => networkNamespaceOf(Number(pid)) === networkNamespace)
    .map(Number);
}

/** Ids of the processes that have this word in their command line, the holders and guards of a sandbox among them. */
export function processesNaming(word: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function networkNamespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

async function* readLines(stream: Readable): AsyncGenerator<string, undefined> {
  let rest = '';
  for await (const part of stream) {
    rest += part;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      yield rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
  }
  return undefined;
}
