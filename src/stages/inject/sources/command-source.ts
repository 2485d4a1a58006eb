// A credential that a command prints (pass, op, vault, gcloud…). Run without a shell, with a bare environment and outside
// any folder of an agent's, bounded in time and output, one at a time, remembered for as long as the configuration says.
// What the command prints never reaches an error, except a masked first line of its standard error, for the operator.
import { type ExecFileException, execFile } from 'node:child_process';
import { Secret } from '../../../path/secret.ts';
import { cleanValue, maxSecretBytes, otherThan, type SecretSource, SourceError } from './secret-source.ts';

const timeLimitMs = 10_000;
/** After a failure the command is left alone this long, so that a busy sandbox cannot make us fork without end. */
const pauseAfterFailureMs = 5000;
/** The same for an upstream that says no to whatever the command prints. */
const pauseBeforeRenewalMs = 5000;
/** What password managers need to find themselves and their agents; nothing that could be a credential. */
const passedOn = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'DBUS_SESSION_BUS_ADDRESS',
  'GNUPGHOME',
  'PASSWORD_STORE_DIR',
];

/** How a command ended that did not succeed. */
export interface CommandFailure {
  readonly kind: 'not-found' | 'too-slow' | 'failed';
  /** Its standard error, in which nothing is masked: for telling what is wrong, never for showing. */
  readonly stderr: string;
  /** Whether it printed anything on its standard output. */
  readonly printed: boolean;
}

export interface CommandSourceOptions {
  /** Names of variables that it gets beside the usual ones. */
  readonly passEnv?: readonly string[];
  /** For a program that we know: what the operator has to do, in our own words. Null: the usual ones. */
  readonly explain?: (failure: CommandFailure) => string | null;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeLimitMs?: number;
}

export class CommandSource implements SecretSource {
  readonly #name: string;
  readonly #argv: readonly string[];
  readonly #ttlMs: number;
  readonly #now: () => number;
  readonly #env: NodeJS.ProcessEnv;
  readonly #passEnv: readonly string[];
  readonly #explainFailure: (failure: CommandFailure) => string | null;
  readonly #timeLimitMs: number;
  #secret: Secret | null = null;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #failure: SourceError | null = null;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #ranAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Secret> | null = null;

  constructor(name: string, argv: readonly string[], ttlSeconds: number, options: CommandSourceOptions = {}) {
    this.#name = name;
    this.#argv = argv;
    this.#ttlMs = ttlSeconds * 1000;
    this.#now = options.now ?? (() => performance.now());
    this.#env = options.env ?? process.env;
    this.#passEnv = options.passEnv ?? [];
    this.#explainFailure = options.explain ?? (() => null);
    this.#timeLimitMs = options.timeLimitMs ?? timeLimitMs;
  }

  current(): Secret | Promise<Secret> {
    const now = this.#now();
    if (this.#secret !== null && now < this.#freshUntil) return this.#secret;
    if (this.#failure !== null && now < this.#pausedUntil) throw this.#failure;
    return this.#runOnce();
  }

  /** What is remembered, without running anything. */
  listed(): Secret | null {
    return this.#now() < this.#freshUntil ? this.#secret : null;
  }

  /** Run again, unless that was done a moment ago. What was refused stays in force if that fails: it may be good elsewhere. */
  async renewed(refused: Secret): Promise<Secret | null> {
    const known = otherThan(refused, this.listed());
    if (known !== null) return known;
    if (this.#running === null && this.#now() - this.#ranAt < pauseBeforeRenewalMs) return null;
    return otherThan(refused, await this.#runOnce());
  }

  #runOnce(): Promise<Secret> {
    this.#running ??= this.#run().finally(() => {
      this.#ranAt = this.#now();
      this.#running = null;
    });
    return this.#running;
  }

  async #run(): Promise<Secret> {
    try {
      const value = cleanValue(await this.#output(), `what ${this.#program} printed`);
      this.#failure = null;
      this.#freshUntil = this.#now() + this.#ttlMs;
      this.#secret = new Secret(this.#name, value);
      return this.#secret;
    } catch (error) {
      this.#failure = error instanceof SourceError ? error : new SourceError(`${this.#program} could not be run`);
      this.#pausedUntil = this.#now() + pauseAfterFailureMs;
      throw this.#failure;
    }
  }

  #output(): Promise<Buffer> {
    const env: NodeJS.ProcessEnv = {};
    for (const name of [...passedOn, ...this.#passEnv]) if (this.#env[name] !== undefined) env[name] = this.#env[name];
    const options = {
      env,
      // Guards: a program that takes its settings from where it stands (git, version managers), started in an agent's folder.
      cwd: '/',
      encoding: 'buffer' as const,
      timeout: this.#timeLimitMs,
      killSignal: 'SIGKILL' as const,
      maxBuffer: maxSecretBytes,
    };
    return new Promise((resolve, reject) => {
      const child = execFile(this.#program, this.#argv.slice(1), options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        // Not `error` itself as the cause: its message repeats the arguments and all of the standard error.
        else reject(new SourceError(this.#explain(error, stdout, stderr)));
      });
      // A command that asks for a password must see at once that no one is there.
      child.stdin?.on('error', () => {});
      child.stdin?.end();
    });
  }

  get #program(): string {
    return this.#argv[0] ?? '(empty command)';
  }

  #explain(error: ExecFileException, stdout: Buffer, stderr: Buffer): string {
    const kind = error.code === 'ENOENT' ? 'not-found' : error.killed ? 'too-slow' : 'failed';
    const known = this.#explainFailure({ kind, stderr: stderr.toString('utf8'), printed: stdout.length > 0 });
    if (known !== null) return known;
    if (error.code === 'ENOENT') return `${this.#program} was not found: write its whole path in the configuration`;
    if (error.code === 'EACCES') return `${this.#program} may not be executed by the gateway's user`;
    if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
      return `${this.#program} printed more than ${maxSecretBytes} bytes`;
    }
    if (error.killed) return `${this.#program} did not end within ${this.#timeLimitMs / 1000} s`;
    const how = error.signal ? `was ended by ${error.signal}` : `ended with code ${error.code}`;
    const said = firstLineMasked(stderr.toString('utf8'), stdout.toString('utf8'));
    return `${this.#program} ${how}${said === '' ? '' : `, saying: ${said}`}: run it as the gateway's user to see why`;
  }
}

/** The first line of a standard error, without what was on the standard output and without anything token-shaped. */
function firstLineMasked(stderr: string, stdout: string): string {
  let line = stderr.split('\n', 1)[0] ?? '';
  for (const printed of stdout.split('\n')) if (printed.trim() !== '') line = line.replaceAll(printed.trim(), '***');
  return line
    .replace(/[^\x20-\x7e]/g, ' ')
    .replace(/[A-Za-z0-9_+=~-]{12,}/g, '***')
    .slice(0, 200)
    .trim();
}
