// Real git in a repository of its own, and histories made by chance from a seed that is printed.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fuzzSeed } from '../support/fuzz-seed.ts';

const quiet = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

const run = promisify(execFile);

export class GitRepository {
  readonly directory = mkdtempSync(join(tmpdir(), 'git-pack-'));

  constructor() {
    this.git(['init', '-q', '--bare', '.']);
    for (const [name, value] of [
      ['uploadpack.allowFilter', 'true'],
      ['uploadpack.allowAnySHA1InWant', 'true'],
      ['pack.threads', '1'],
      ['gc.auto', '0'],
    ] as const) {
      this.git(['config', name, value]);
    }
  }

  git(args: readonly string[], input: string | Buffer = '', env: Record<string, string> = {}): Buffer {
    return execFileSync('git', args, {
      cwd: this.directory,
      env: { ...quiet, ...env },
      input,
      maxBuffer: 256 * 1024 * 1024,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  lines(args: readonly string[], input: string | Buffer = ''): string[] {
    const text = this.git(args, input).toString('utf8');
    return text === '' ? [] : text.replace(/\n$/, '').split('\n');
  }

  /** Git's answer by its exit code: 0 is yes, 1 is no, all else an error. */
  async says(args: readonly string[]): Promise<boolean> {
    try {
      await run('git', args, { cwd: this.directory, env: quiet });
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code === 1) return false;
      throw error;
    }
  }

  /** Whether git takes these bytes as a complete pack of its own. */
  indexes(pack: Buffer): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const child = spawn('git', ['index-pack', '--stdin'], { cwd: this.directory, env: quiet, stdio: 'pipe' });
      child.on('error', reject);
      child.on('close', (code) => resolve(code === 0));
      child.stdin.on('error', () => {});
      child.stdin.end(pack);
    });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Mulberry32: small, and the same everywhere. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  one<T>(things: readonly T[]): T {
    return things[this.below(things.length)] as T;
  }
}

/** How many are drawn: the same seed draws the same first ones, so ORACLE_TIMES=10 with another SEED is what finds more. */
export function howMany(count: number): number {
  return count * Number(process.env.ORACLE_TIMES ?? 1);
}

/** SEED in the environment is another run. */
export function seedOf(name: string): number {
  const seed = process.env.SEED === undefined ? fuzzSeed : Number(process.env.SEED);
  console.info(`${name}: SEED=${seed}`);
  return seed;
}
