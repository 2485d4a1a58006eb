// A login that consists of a refresh token in some source (a file, a command), or of nothing at all. Access tokens live in
// memory alone. A refresh token that is exchanged for another is written back where the source is a file; anywhere else it
// lives as long as the gateway does, and the operator is told so once.
import { reveal, type Secret } from '../../../path/secret.ts';
import { cleanValue, type SecretSource, SourceError } from '../sources/secret-source.ts';
import { openUserFile, UnusableFile, type UserFile } from '../sources/user-key-file.ts';
import { replace } from './login-file.ts';
import { type Login, type LoginKeep, noLogin } from './login-keep.ts';
import { withLocks } from './login-lock.ts';
import { refreshTokenOf } from './oauth-grant.ts';

/** For grants that need no refresh token. */
export const nothingKept: LoginKeep = {
  place: 'its token endpoint',
  again: 'check the client and its secret',
  load: () => noLogin,
  exclusively: (work) => work(noLogin),
  save: async () => {},
};

export interface PlainKeepOptions {
  readonly name: string;
  readonly source: SecretSource;
  /** The file that the source reads, to write to; null: it is not a file. */
  readonly path: string | null;
  /** Tells the operator, who may want to have it in a file that can be written. */
  readonly onlyInMemory: () => void;
}

export class PlainKeep implements LoginKeep {
  readonly again = 'put a new refresh token there';
  readonly #options: PlainKeepOptions;
  #wasTold = false;

  constructor(options: PlainKeepOptions) {
    this.#options = options;
  }

  get place(): string {
    return this.#options.path ?? 'the source of its refresh token';
  }

  /** A source may have to wait for a command: it is asked only when a refresh token is needed. */
  load(): Login {
    return noLogin;
  }

  async exclusively<Result>(work: (login: Login | null) => Promise<Result>): Promise<Result> {
    const file = this.#open();
    const locks = file === null ? [] : [`${file.realPath}.sallyport-lock`];
    return withLocks(locks, async () => work({ ...noLogin, refresh: await this.#read() }));
  }

  /** Under the lock of `exclusively`; what is tried again later is written without it, if nobody else has written. */
  async save({ refresh }: Login, replaceable: (refresh: Secret | null) => boolean): Promise<void> {
    if (refresh === null) return;
    const file = this.#open();
    if (file === null) {
      const there = await this.#read();
      if (!this.#wasTold && reveal(there) !== reveal(refresh)) this.#options.onlyInMemory();
      this.#wasTold = true;
      return;
    }
    const there = this.#tokenIn(file.text);
    if (reveal(there) === reveal(refresh) || !replaceable(there)) return;
    await replace(file, `${reveal(refresh)}${file.text.endsWith('\n') ? '\n' : ''}`);
  }

  async #read(): Promise<Secret> {
    // Always asked, also for a file: the checks that files of credentials have to pass are there.
    const found = await this.#options.source.current(null);
    if (found === null) throw new SourceError('its refresh token is not set');
    // But a source that reads a file may be a second behind.
    const file = this.#open();
    if (file !== null) return this.#tokenIn(file.text);
    return refreshTokenOf(this.#options.name, reveal(found), 'its refresh token');
  }

  #tokenIn(text: string): Secret {
    return refreshTokenOf(this.#options.name, cleanValue(text, this.place), `the refresh token in ${this.place}`);
  }

  #open(): UserFile | null {
    const { path } = this.#options;
    if (path === null) return null;
    try {
      return openUserFile(path, path, null);
    } catch (error) {
      // For instance root's: it can be read, and is not ours to write.
      if (error instanceof UnusableFile) return null;
      throw error;
    }
  }
}
