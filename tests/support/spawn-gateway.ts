// The gateway as an operator runs it: the built command in a process of its own, for the tests that signal and kill it.
// Built once per test file, from the source as it is, beside the package's own config and dependencies.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { eventually } from './eventually.ts';
import { type ClientRun, runClient } from './run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface BuiltCommand {
  /** A directory of its own for state and configuration. */
  readonly home: string;
  /** Runs `sallyport …` to its end. */
  run(args: readonly string[], input?: string): Promise<ClientRun>;
  /** Starts `sallyport …` and does not wait. */
  start(args: readonly string[]): RunningCommand;
  /** Starts `sallyport up` and waits until its door is open. */
  up(): Promise<RunningGateway>;
  writeConfig(document: Record<string, unknown>): void;
  remove(): void;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

export interface RunningGateway extends RunningCommand {
  readonly host: string;
  readonly port: number;
  readonly proxyUrl: string;
  readonly caPath: string;
}

export function buildCommand(document: Record<string, unknown>): BuiltCommand {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-built-'));
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs'), join(home, 'package', 'dist')]);
  for (const name of ['config', 'package.json', 'node_modules'])
    symlinkSync(join(root, name), join(home, 'package', name));
  const main = join(home, 'package', 'dist', 'main.cjs');
  const env = { SALLYPORT_HOME: join(home, 'state'), SALLYPORT_CONFIG: join(home, 'sallyport.yaml'), NO_COLOR: '1' };
  const writeConfig = (next: Record<string, unknown>): void =>
    writeFileSync(env.SALLYPORT_CONFIG, stringify({ version: 1, listen: { proxy: '127.0.0.1:0' }, ...next }));
  writeConfig(document);
  const start = (args: readonly string[]): RunningCommand => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
    return { child, output: () => text, ended, kill: (signal) => child.kill(signal) };
  };
  return {
    home,
    start,
    writeConfig,
    run: (args, input = '') => runClient(process.execPath, [main, ...args], { env: { HOME: home, ...env }, input }),
    async up() {
      const running = start(['up', '--json']);
      const door = await eventually(() => {
        if (running.child.exitCode !== null) throw new Error(`the gateway ended: ${running.output()}`);
        return /proxy http:\/\/127\.0\.0\.1:(\d+)/.exec(running.output());
      }, 'the gateway is up');
      const port = Number(door[1]);
      const caPath = join(env.SALLYPORT_HOME, 'ca', 'ca.pem');
      return { ...running, host: '127.0.0.1', port, proxyUrl: `http://127.0.0.1:${port}`, caPath };
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
