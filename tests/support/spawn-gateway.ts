// The gateway as an operator runs it: the built command in a process of its own, for the tests that signal and kill it.
// Built once for all test files, from the source as it is, beside the package's own config and dependencies.
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { copyBuiltDist } from './built-dist.ts';
import { eventually } from './eventually.ts';
import { type ClientRun, runClient } from './run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface BuiltCommand {
  /** A directory of its own for state and configuration. */
  readonly home: string;
  /** Runs `sallyport …` to its end. */
  run(args: readonly string[], input?: string): Promise<ClientRun>;
  /** Starts `sallyport …` and does not wait. `through`: a program that runs it, such as prlimit. */
  start(args: readonly string[], through?: readonly string[]): RunningCommand;
  /** Starts `sallyport up` and waits until its door is open. */
  up(through?: readonly string[]): Promise<RunningGateway>;
  writeConfig(document: Record<string, unknown>): void;
  /** The same command for a second gateway: the CA and the configuration of this one, and a state of its own. */
  beside(): BuiltCommand;
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
  mkdirSync(join(home, 'package'));
  copyBuiltDist(join(home, 'package', 'dist'));
  for (const name of ['config', 'dashboard', 'package.json', 'node_modules'])
    symlinkSync(join(root, name), join(home, 'package', name));
  return commandIn(home, join(home, 'package', 'dist', 'main.cjs'), document);
}

function commandIn(home: string, main: string, document: Record<string, unknown>): BuiltCommand {
  const env = { SALLYPORT_HOME: join(home, 'state'), SALLYPORT_CONFIG: join(home, 'sallyport.yaml'), NO_COLOR: '1' };
  // In one step: a gateway that reads the file while it is written would find half of it.
  const writeConfig = (next: Record<string, unknown>): void => {
    const beside = join(home, 'next-sallyport.yaml');
    writeFileSync(beside, stringify({ version: 1, listen: { proxy: '127.0.0.1:0' }, ...next }));
    renameSync(beside, env.SALLYPORT_CONFIG);
  };
  writeConfig(document);
  const start = (args: readonly string[], through: readonly string[] = []): RunningCommand => {
    const [program, ...rest] = [...through, process.execPath, main, ...args];
    const child = spawn(program!, rest, {
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
    async up(through = []) {
      const running = start(['up', '--json'], through);
      const isUp = (): RegExpExecArray | null => {
        if (running.child.exitCode !== null) throw new Error(`the gateway ended: ${running.output()}`);
        return /proxy http:\/\/127\.0\.0\.1:(\d+)/.exec(running.output());
      };
      const door = await eventually(isUp, 'the gateway is up', 40_000);
      const port = Number(door[1]);
      const caPath = join(env.SALLYPORT_HOME, 'ca', 'ca.pem');
      return { ...running, host: '127.0.0.1', port, proxyUrl: `http://127.0.0.1:${port}`, caPath };
    },
    beside() {
      const other = mkdtempSync(join(tmpdir(), 'sallyport-beside-'));
      mkdirSync(join(other, 'state', 'ca'), { recursive: true, mode: 0o700 });
      cpSync(join(env.SALLYPORT_HOME, 'ca'), join(other, 'state', 'ca'), { recursive: true });
      return commandIn(other, main, document);
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
