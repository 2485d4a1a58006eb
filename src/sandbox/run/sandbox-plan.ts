// The nouns of launching: what a sandbox is to look like, and what a launcher is. Types only. A launcher first makes the
// network namespace, so that the door can be opened in it, and only then starts the command: its first connection works.
import type { Readable, Writable } from 'node:stream';
import type { SealedMount } from '../files/seal-mounts.ts';

/** One thing in the sandbox's file system. Applied in order: a later one may lie inside an earlier one. */
export type Mount =
  | { readonly kind: 'read-only' | 'read-write'; readonly source: string; readonly target: string }
  /** An empty writable folder of its own, gone with the sandbox. */
  | { readonly kind: 'empty'; readonly target: string }
  | { readonly kind: 'link'; readonly target: string; readonly to: string }
  /** Something dangerous inside an earlier mount: an empty file or folder nobody can write to takes its place. */
  | { readonly kind: 'masked-file' | 'masked-folder'; readonly target: string };

/** Everything a launcher needs to start the command; nothing in it is secret. */
export interface SandboxPlan {
  readonly id: string;
  /** Program and arguments. The program is looked up in the PATH of `environment`. */
  readonly command: readonly string[];
  readonly workingDirectory: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** What the mounts were when they were judged. Left out: the launcher takes them as they are when it is called. */
  readonly seals?: readonly SealedMount[];
  /** For a launcher that holds them itself. */
  readonly limits?: SandboxLimits | undefined;
  /** Where orders for further commands are laid, on the host and as the sandbox sees it. Left out: there can be none. */
  readonly orders?: { readonly folder: string; readonly inside: string };
}

export type LauncherName = 'bubblewrap' | 'namespaces' | 'docker' | 'podman' | 'unshare';

/** `terminal`: the command gets our own standard streams. `piped`: the caller gets them. */
export type SandboxStdio = 'terminal' | 'piped';

export interface Launcher {
  readonly name: LauncherName;
  /** What it does not isolate, in words for the user; empty: nothing to say. */
  readonly notice: readonly string[];
  /** A network namespace with nothing but `lo`. No command runs yet. */
  prepare(stdio: SandboxStdio): Promise<PreparedSandbox>;
}

export interface PreparedSandbox {
  /** A process in the network namespace that the command will have. */
  readonly pid: number;
  /** Once. The door is open and its helper gone before this is called. */
  start(plan: SandboxPlan): Promise<RunningSandbox>;
  /** Ends it without having started a command. */
  discard(): Promise<void>;
}

export interface RunningSandbox {
  /** Resolves when every process of the sandbox is gone; 128 + n when a signal ended the command, as shells say it. */
  readonly ended: Promise<number>;
  /** Passes a signal on to the command. */
  signal(signal: NodeJS.Signals): void;
  /** Ends every process of the sandbox at once. */
  kill(): void;
  /** Null with `terminal`. */
  readonly streams: { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable } | null;
  /** Starts another command in it, with the rights of the first and no more. Rejects with a LaunchError. */
  exec(order: ExecOrder): Promise<ExecutedCommand>;
}

/** How much of the machine a sandbox may use. */
export interface SandboxLimits {
  /** Of all its processes together, in bytes. */
  readonly memory?: number | undefined;
  /** Of the machine's processors, at the same time. */
  readonly cpus?: number | undefined;
  /** Processes and threads at the same time. */
  readonly pids?: number | undefined;
  /** How long it may run, in milliseconds. */
  readonly time?: number | undefined;
}

export interface WindowSize {
  readonly rows: number;
  readonly columns: number;
}

/** Another command for a sandbox that runs. */
export interface ExecOrder {
  readonly command: readonly string[];
  /** Beside the variables of the first command. */
  readonly environment: Readonly<Record<string, string>>;
  /** Null: that of the first command. */
  readonly workingDirectory: string | null;
  /** A terminal of its own, of the sandbox's; null: three pipes. */
  readonly terminal: WindowSize | null;
}

export interface ExecutedCommand {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Null: at a terminal there is one stream. */
  readonly stderr: Readable | null;
  /** As the sandbox says it; 137 when it ended without saying. */
  readonly ended: Promise<number>;
  signal(signal: NodeJS.Signals): void;
  resize(size: WindowSize): void;
}

/** It cannot be started, and what the user can do about it. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
  readonly hint: string;

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.hint = hint;
  }
}
