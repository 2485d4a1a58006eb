// A folder with a git repository, bare or not, and real git run in it with the environment it was given and nothing of
// this machine's configuration. Histories are written straight to branches, without a working tree.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ClientRun } from './run-client.ts';

/** A text, nothing (the file goes away), or a text with a mode of its own; for 160000 the text is an id. */
export type FileChange = string | null | { readonly mode: '100755' | '120000' | '160000'; readonly text: string };

export interface NewCommit {
  /** `refs/heads/` is put before it unless it begins with `refs/`. */
  readonly branch: string;
  /** By path; what is not named stays as in the first parent. */
  readonly files?: Readonly<Record<string, FileChange>>;
  /** Default: the tip of the branch when there is one. */
  readonly parents?: readonly string[];
}

/** What a person's own git would have set, and no more. */
export const quietGit: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'A U Thor',
  GIT_AUTHOR_EMAIL: 'author@example.com',
  GIT_COMMITTER_NAME: 'A U Thor',
  GIT_COMMITTER_EMAIL: 'author@example.com',
};

let made = 0;

export class GitFolder {
  readonly folder: string;
  readonly #env: Record<string, string>;

  constructor(folder: string, env: Record<string, string>) {
    this.folder = folder;
    this.#env = env;
  }

  /** A command that may fail. */
  run(args: readonly string[], input: string | Buffer = '', env: Record<string, string> = {}): Promise<ClientRun> {
    return new Promise((resolve, reject) => {
      this.#collect(
        args,
        input,
        env,
        (code, stdout, stderr) => resolve({ code, stdout: stdout.toString(), stderr }),
        reject,
      );
    });
  }

  /** What a command that must not fail prints, as bytes. */
  bytes(args: readonly string[], input: string | Buffer = ''): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const done = (code: number | null, stdout: Buffer, stderr: string): void =>
        code === 0 ? resolve(stdout) : reject(new Error(`git ${args.join(' ')} ended with ${code}: ${stderr}`));
      this.#collect(args, input, {}, done, reject);
    });
  }

  #collect(
    args: readonly string[],
    input: string | Buffer,
    env: Record<string, string>,
    done: (code: number | null, stdout: Buffer, stderr: string) => void,
    failed: (error: Error) => void,
  ): void {
    const child = spawn('git', args, {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', ...this.#env, ...env },
      timeout: 110_000,
      killSignal: 'SIGKILL',
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', failed);
    child.on('close', (code) => done(code, Buffer.concat(stdout), Buffer.concat(stderr).toString()));
    // git may end before it has read what it does not need.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  }

  /** A command that must not fail: what it prints, without the last line feed. */
  async git(...args: string[]): Promise<string> {
    return this.#must(args, '');
  }

  async #must(args: readonly string[], input: string | Buffer): Promise<string> {
    const run = await this.run(args, input);
    if (run.code !== 0) throw new Error(`git ${args.join(' ')} ended with ${run.code}: ${run.stderr}`);
    return run.stdout.trimEnd();
  }

  /** Writes one commit to a branch (wherever that was) and gives its id. No two are alike. */
  async commit({ branch, files = {}, parents }: NewCommit): Promise<string> {
    const ref = branch.startsWith('refs/') ? branch : `refs/heads/${branch}`;
    const from = parents ?? (await this.#tip(ref));
    const number = ++made;
    const message = `change ${number}`;
    const lines = [
      `commit ${ref}`,
      'mark :1',
      `committer A U Thor <author@example.com> ${1_700_000_000 + number} +0000`,
      `data ${message.length}\n${message}`,
      ...from.map((parent, i) => `${i === 0 ? 'from' : 'merge'} ${parent}`),
      ...Object.entries(files).map(([path, change]) => fileLine(path, change)),
      'get-mark :1',
      '',
    ];
    // A branch that is begun anew must not keep what it had: without this, fast-import goes on from it.
    const reset = from.length === 0 ? [`reset ${ref}`, ''] : [];
    return this.#must(['fast-import', '--quiet', '--force'], [...reset, ...lines].join('\n'));
  }

  /** Every ref and where it points. */
  async refs(): Promise<Record<string, string>> {
    const text = await this.git('for-each-ref', '--format=%(refname) %(objectname)');
    return Object.fromEntries(text === '' ? [] : text.split('\n').map((line) => line.split(' ') as [string, string]));
  }

  /** Null: there is no such ref. */
  async tip(branch: string): Promise<string | null> {
    return (await this.#tip(branch.startsWith('refs/') ? branch : `refs/heads/${branch}`))[0] ?? null;
  }

  async #tip(ref: string): Promise<string[]> {
    const run = await this.run(['rev-parse', '--verify', '--quiet', ref]);
    return run.code === 0 ? [run.stdout.trim()] : [];
  }

  /** Another repository below this folder, with the same environment. */
  below(name: string): GitFolder {
    return new GitFolder(join(this.folder, name), this.#env);
  }
}

function fileLine(path: string, change: FileChange): string {
  if (change === null) return `D ${path}`;
  const { mode, text } = typeof change === 'string' ? { mode: '100644', text: change } : change;
  if (mode === '160000') return `M ${mode} ${text} ${path}`;
  return `M ${mode} inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`;
}
