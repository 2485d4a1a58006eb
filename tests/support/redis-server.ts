// A real redis-server on loopback, with a folder of its own: plain, or with TLS and an ACL user who may do no more than
// docs/store.md says. Can be paused, killed and started again on the same port. Nothing of it outlives the test file.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StoreSettings } from '../../src/policy/compiled-limits.ts';
import { afterThisFile } from './after-this-file.ts';
import { eventually } from './eventually.ts';
import { keptPort } from './kept-port.ts';
import { makeTestCa } from './test-ca.ts';

const exec = promisify(execFile);

export interface RedisServerOptions {
  /** TLS, and a user `gateway` with a password and the rights of docs/store.md. */
  readonly guarded?: boolean;
  /** Writes each change to disk before it answers, so that a kill loses nothing. */
  readonly persistent?: boolean;
}

export const gatewayPassword = 'gateway-password-of-the-test';
const adminPassword = 'admin-password-of-the-test';

export class RedisServer {
  readonly port: number;
  readonly settings: StoreSettings;
  readonly #directory: string;
  #child: ChildProcess | null = null;

  private constructor(port: number, directory: string, settings: StoreSettings) {
    this.port = port;
    this.#directory = directory;
    this.settings = settings;
  }

  static async start({ guarded = false, persistent = false }: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = mkdtempSync(join(tmpdir(), 'sallyport-redis-'));
    const port = await keptPort();
    const plain = ['bind 127.0.0.1', `dir ${directory}`, 'save ""', 'daemonize no'];
    const lasting = persistent ? ['appendonly yes', 'appendfsync always'] : ['appendonly no'];
    const { lines, roots } = guarded ? guardedConfig(directory, port) : { lines: [`port ${port}`], roots: [] };
    writeFileSync(join(directory, 'redis.conf'), `${[...plain, ...lasting, ...lines].join('\n')}\n`);
    const settings: StoreSettings = {
      // The name is in the certificate, and leads to loopback everywhere.
      host: guarded ? 'localhost' : '127.0.0.1',
      port,
      tls: guarded,
      user: guarded ? 'gateway' : null,
      password: null,
      database: 0,
      roots,
      prefix: 'sallyport:',
      graceMs: 300_000,
      sharedAddresses: false,
      text: `${guarded ? 'rediss' : 'redis'}://localhost:${port}/0`,
    };
    const server = new RedisServer(port, directory, settings);
    afterThisFile(() => server.stop());
    await server.restart();
    return server;
  }

  get password(): string | null {
    return this.settings.tls ? gatewayPassword : null;
  }

  async restart(): Promise<void> {
    // Ends with this process, however that ends.
    const withUs = ['--pdeathsig', 'KILL', 'redis-server', join(this.#directory, 'redis.conf')];
    this.#child = spawn('setpriv', withUs, { stdio: 'ignore' });
    await eventually(() => this.cli('PING').catch(() => ''), 'redis-server answers');
  }

  /** As the administrator of Redis. */
  async cli(...args: string[]): Promise<string> {
    const tls = this.settings.tls ? ['--tls', '--cacert', join(this.#directory, 'ca.pem')] : [];
    const login = this.settings.tls ? ['--user', 'admin', '--pass', adminPassword, '--no-auth-warning'] : [];
    const { stdout } = await exec(
      'redis-cli',
      ['-h', 'localhost', '-p', String(this.port), ...tls, ...login, ...args],
      {
        timeout: 20_000,
      },
    );
    return stdout.trimEnd();
  }

  /** Everything that is in it: names and values. */
  async dump(): Promise<string> {
    const keys = (await this.cli('KEYS', '*')).split('\n').filter((key) => key !== '');
    const read: Record<string, string[]> = {
      string: ['GET'],
      hash: ['HGETALL'],
      zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
    };
    const values = keys.map(async (key) => {
      const [command, ...rest] = read[await this.cli('TYPE', key)] ?? ['DUMP'];
      return `${key}\n${await this.cli(command!, key, ...rest)}`;
    });
    return (await Promise.all(values)).join('\n');
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** The very line of docs/store.md: a right that is missing there fails the tests. */
function documentedRights(): string {
  const text = readFileSync(new URL('../../docs/store.md', import.meta.url), 'utf8');
  const line = /^user gateway on >PASSWORD (.*)$/m.exec(text);
  if (line === null) throw new Error('docs/store.md has no line that begins with: user gateway on >PASSWORD');
  return line[1]!;
}

function guardedConfig(directory: string, port: number): { lines: string[]; roots: string[] } {
  const ca = makeTestCa();
  const { key, cert } = ca.issue(['localhost']);
  const root = readFileSync(ca.path, 'utf8');
  for (const [name, text] of Object.entries({ 'ca.pem': root, 'redis.key': key, 'redis.pem': cert })) {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
  }
  return {
    roots: [root],
    lines: [
      'port 0',
      `tls-port ${port}`,
      `tls-cert-file ${join(directory, 'redis.pem')}`,
      `tls-key-file ${join(directory, 'redis.key')}`,
      `tls-ca-cert-file ${join(directory, 'ca.pem')}`,
      'tls-auth-clients no',
      'user default off',
      `user admin on >${adminPassword} ~* &* +@all`,
      `user gateway on >${gatewayPassword} ${documentedRights()}`,
    ],
  };
}
