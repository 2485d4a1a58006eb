// Real git on both sides, and a small HTTP server on loopback between them that keeps what the client sent. No network.
import { type ExecFileException, execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { encodePkt, flushPkt } from '../../src/protocols/git/pkt-line.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A folder with a bare repository, a working one, and nothing of this machine's git configuration. */
export class GitGround {
  readonly folder = mkdtempSync(join(tmpdir(), 'git-wire-'));
  readonly bare = join(this.folder, 'bare.git');
  readonly work = join(this.folder, 'work');
  readonly #seen = join(this.folder, 'seen');

  async prepare(): Promise<void> {
    await this.git(['init', '-q', '--bare', '-b', 'main', this.bare], { cwd: this.folder });
    for (const [key, value] of [
      ['receive.advertisePushOptions', 'true'],
      ['receive.certNonceSeed', 'seed'],
      ['uploadpack.allowFilter', 'true'],
      ['uploadpack.allowAnySHA1InWant', 'true'],
    ] as const) {
      await this.git(['config', key, value], { cwd: this.bare });
    }
    await this.git(['init', '-q', '-b', 'main', this.work], { cwd: this.folder });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Fails the test when git does, unless `mayFail`. */
  async git(
    args: readonly string[],
    options: { cwd?: string; input?: Buffer; env?: Record<string, string>; mayFail?: boolean } = {},
  ): Promise<Ran> {
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: this.folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.com',
      ...options.env,
    };
    const ran = await new Promise<Ran>((resolve) => {
      const settings = {
        cwd: options.cwd ?? this.work,
        env,
        encoding: 'buffer',
        timeout: 20_000,
        maxBuffer: 1 << 26,
      } as const;
      const child = execFile('git', [...args], settings, (error: ExecFileException | null, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr: stderr.toString() });
      });
      // A child that refuses early does not read all of it.
      child.stdin?.on('error', () => {});
      child.stdin?.end(options.input ?? Buffer.alloc(0));
    });
    if (ran.code !== 0 && options.mayFail !== true) throw new Error(`git ${args.join(' ')}: ${ran.stderr}`);
    return ran;
  }

  async line(...args: string[]): Promise<string> {
    return (await this.git(args)).stdout.toString().trim();
  }

  async commit(file: string, content: string): Promise<string> {
    writeFileSync(join(this.work, file), content);
    await this.git(['add', '-A']);
    await this.git(['commit', '-q', '-m', `change ${file}`]);
    return this.line('rev-parse', 'HEAD');
  }

  /** From now on the bare repository writes down what its receive-pack understood, and takes it or not. */
  installWitness(accept: boolean): void {
    const hook = join(this.bare, 'hooks', 'pre-receive');
    const script = `#!/bin/sh\n{ cat; env | grep '^GIT_PUSH_OPTION_[0-9]' | sort; } > '${this.#seen}'\nexit ${accept ? 0 : 1}\n`;
    writeFileSync(hook, script);
    chmodSync(hook, 0o755);
  }

  /** What receive-pack understood since the last time: `old new ref` lines, then its push options. */
  takeWitness(): { commands: string[]; pushOptions: string[] } | null {
    let text: string;
    try {
      text = readFileSync(this.#seen, 'utf8');
    } catch {
      return null;
    }
    rmSync(this.#seen);
    const lines = text.split('\n').filter((line) => line !== '');
    const isOption = (line: string): boolean => line.startsWith('GIT_PUSH_OPTION_');
    return {
      commands: lines.filter((line) => !isOption(line)),
      pushOptions: lines.filter(isOption).map((line) => line.slice(line.indexOf('=') + 1)),
    };
  }

  receivePack(input: Buffer): Promise<Ran> {
    return this.git(['receive-pack', '--stateless-rpc', this.bare], { input, mayFail: true });
  }

  uploadPackV2(input: Buffer): Promise<Ran> {
    const env = { GIT_PROTOCOL: 'version=2' };
    return this.git(['upload-pack', '--stateless-rpc', this.bare], { input, env, mayFail: true });
  }
}

export interface PushServer {
  readonly url: string;
  /** Bodies of POST git-receive-pack, decompressed. */
  readonly pushes: Buffer[];
  close(): Promise<void>;
}

export interface PushServerOptions {
  /** What becomes of the advertisement on its way. */
  readonly advertise?: (bytes: Buffer) => Buffer;
  /** An answer in place of receive-pack's own. */
  readonly answer?: (push: Buffer) => Buffer | null;
}

export async function servePushes(ground: GitGround, options: PushServerOptions = {}): Promise<PushServer> {
  const pushes: Buffer[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('Cache-Control', 'no-store');
    if (request.method === 'GET') {
      const { stdout } = await ground.git(['receive-pack', '--http-backend-info-refs', ground.bare]);
      const bytes = Buffer.concat([encodePkt('# service=git-receive-pack\n'), flushPkt, stdout]);
      response.setHeader('Content-Type', 'application/x-git-receive-pack-advertisement');
      response.end(options.advertise?.(bytes) ?? bytes);
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    pushes.push(body);
    response.setHeader('Content-Type', 'application/x-git-receive-pack-result');
    response.end(options.answer?.(body) ?? (await ground.receivePack(body)).stdout);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/o/r.git`,
    pushes,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
