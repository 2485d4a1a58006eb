// Signs the journal every few seconds while it grows, and when it is closed. It signs what was written
// one interval ago, so that after a power cut no signature covers a record that was lost. Errors are reported and stop nothing.
import { renameSync, writeFileSync } from 'node:fs';
import type { Log } from '../../../kit/text/log.ts';
import type { Journal } from './journal.ts';
import { readHead } from './journal-files.ts';
import { fingerprintOf, keptLines, SigningKey, signaturesPath } from './signatures.ts';

export interface JournalSignerOptions {
  readonly journal: Pick<Journal, 'directory' | 'flush' | 'healthy' | 'queued' | 'head' | 'close'>;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly everyMs?: number;
}

type Head = Journal['head'];

export class JournalSigner {
  readonly fingerprint: string;
  readonly #options: JournalSignerOptions;
  readonly #key = new SigningKey();
  readonly #timer: NodeJS.Timeout;
  #next: Head | null = null;
  #signedSeq = 0;

  constructor(options: JournalSignerOptions) {
    this.#options = options;
    this.fingerprint = fingerprintOf(this.#key.publicKey);
    this.#timer = setInterval(() => this.tick(), options.everyMs ?? 10_000).unref();
    options.log.info('the journal is signed with a key of this start', { key: this.fingerprint });
  }

  tick(): void {
    if (this.#next !== null) this.#sign(this.#next);
    this.#next = this.#written();
  }

  /** Closes the journal, and signs its end. */
  close(): void {
    clearInterval(this.#timer);
    const end = this.#written();
    this.#options.journal.close();
    if (end !== null) this.#sign(end);
  }

  /** The last record, when it is in the file. */
  #written(): Head | null {
    const { journal } = this.#options;
    journal.flush();
    return journal.healthy && journal.queued === 0 ? journal.head : null;
  }

  #sign({ seq, hash }: Head): void {
    if (seq === this.#signedSeq) return;
    const { journal, log } = this.#options;
    try {
      const head = readHead(journal.directory);
      const oldest = head === null || head === 'unreadable' ? 1 : head.oldest;
      const path = signaturesPath(journal.directory);
      const lines = keptLines(journal.directory, this.#key.publicKey, oldest);
      lines.push(this.#key.sign(seq, hash, new Date().toISOString()));
      writeFileSync(`${path}.new`, `${lines.join('\n')}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
      this.#signedSeq = seq;
    } catch (error) {
      log.error('the journal could not be signed', { error });
    }
  }
}
