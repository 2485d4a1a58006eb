// A shim as an operator runs it: the built command, as a uid of its own, with an identity folder of its own, beside agents of
// other uids. Built once per test file; nothing of it outlives the file.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IdentityFiles } from '../../src/sandbox/shim/identity.ts';
import { copyBuiltDist } from '../support/built-dist.ts';
import { eventually } from '../support/eventually.ts';
import { asUser } from '../support/namespace.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

export const agentUid = 54_321;
export const shimUid = 54_322;
export const otherUid = 54_323;

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface ShimGround {
  readonly folder: string;
  /** A folder of the shim's with these files in it; returns its path. */
  putIdentity(files: IdentityFiles, name?: string): string;
  /** Runs it and waits until it is ready. */
  start(args: readonly string[], env?: Record<string, string>): Promise<RunningShim>;
  /** Runs it to its end, where it is not to start. */
  refused(args: readonly string[], uid?: number): Promise<ClientRun>;
  /** Ends every shim that was started, and removes the folder. */
  remove(): Promise<void>;
}

export interface RunningShim {
  readonly pid: number;
  readonly port: number;
  readonly proxyUrl: string;
  readonly ended: Promise<number | null>;
  output(): string;
  kill(signal: NodeJS.Signals): void;
}

export function makeShimGround(): ShimGround {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-shim-'));
  chmodSync(folder, 0o755);
  const main = buildInto(folder);
  const running: { child: ChildProcess; ended: Promise<number | null> }[] = [];
  const command = (uid: number, args: readonly string[]): string[] => [
    ...[...asUser(uid), process.execPath, main, 'shim'],
    ...args,
  ];
  const environment = (env: Record<string, string> = {}): Record<string, string> => ({
    ...{ PATH: process.env.PATH ?? '', HOME: '/nonexistent', NO_COLOR: '1' },
    ...env,
  });
  return {
    folder,
    putIdentity(files, name = 'identity') {
      const path = join(folder, name);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      chownSync(path, shimUid, shimUid);
      for (const [kind, text] of Object.entries(files)) {
        const file = join(path, `${kind}.pem`);
        writeFileSync(file, text, { mode: 0o600 });
        chownSync(file, shimUid, shimUid);
      }
      return path;
    },
    async start(args, env) {
      const [program, ...rest] = command(shimUid, args);
      const child = spawn(program!, rest, { cwd: '/', env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          text += chunk;
        });
      }
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
      running.push({ child, ended });
      const ready = await eventually(() => {
        if (child.exitCode !== null) throw new Error(`the shim ended: ${text}`);
        return /^shim for sandbox \S+: (?:127\.0\.0\.1:(\d+)|unix:\S+) -> /m.exec(text);
      }, 'the shim is ready');
      const port = Number(ready[1] ?? 0);
      const proxyUrl = `http://127.0.0.1:${port}`;
      const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
      return { pid: child.pid!, port, proxyUrl, ended, output: () => text, kill };
    },
    refused(args, uid = shimUid) {
      const [program, ...rest] = command(uid, args);
      return runClient(program!, rest, { env: environment(), cwd: '/' });
    },
    async remove() {
      for (const { child } of running) child.kill('SIGKILL');
      await Promise.all(running.map(({ ended }) => ended));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a program to its end as a uid. */
export function runAs(uid: number, command: readonly string[]): Promise<ClientRun> {
  const [program, ...args] = [...asUser(uid), ...command];
  return runClient(program!, args, { cwd: '/' });
}

/** What curl gets through a proxy: the answer, then its status. */
export async function curlAs(uid: number, proxyUrl: string, url = 'http://a.example/'): Promise<string> {
  const { stdout } = await runAs(uid, ['curl', '-sS', '-m', '30', '-x', proxyUrl, '-w', ' %{http_code}', url]);
  return stdout;
}

/** Copies, and no links: another user may have no way into the place where the tests are. */
function buildInto(folder: string): string {
  const place = join(folder, 'package');
  copyBuiltDist(join(place, 'dist'));
  for (const name of ['config', 'package.json', 'node_modules/koffi', 'node_modules/@koromix']) {
    cpSync(join(root, name), join(place, name), { recursive: true, dereference: true });
  }
  execFileSync('chmod', ['-R', 'a+rX', place]);
  return join(place, 'dist', 'main.cjs');
}
