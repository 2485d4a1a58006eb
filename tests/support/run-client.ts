// Runs a real client program and gives back what it printed. The environment is the caller's alone: no proxy or CA
// variable of this machine leaks into a test.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Wire } from './wire.ts';

export interface ClientRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ClientOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

export function runClient(command: string, args: readonly string[], options: ClientOptions = {}): Promise<ClientRun> {
  return new Promise((resolve, reject) => {
    const child = spawnClient(command, args, options);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    // A client that ends early reads no input.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

export interface StartedClient {
  /** What it prints, as it prints it. */
  readonly stdout: Wire;
  readonly ended: Promise<number | null>;
  kill(): void;
}

/** Starts a client and does not wait for its end. */
export function startClient(command: string, args: readonly string[], options: ClientOptions = {}): StartedClient {
  const child = spawnClient(command, args, options);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  child.stdin.end(options.input ?? '');
  return { stdout: new Wire(child.stdout), ended, kill: () => child.kill('SIGKILL') };
}

function spawnClient(command: string, args: readonly string[], options: ClientOptions): ChildProcessWithoutNullStreams {
  return spawn(command, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', LANG: 'C.UTF-8', ...options.env },
    timeout: options.timeoutMs ?? 50_000,
    killSignal: 'SIGKILL',
  });
}
