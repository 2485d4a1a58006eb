// The answer to a version 2 fetch, section by section, until the pack begins; then the pack comes out as it arrives.
// The upstream is not trusted with our memory or our patience: sections once and in order, a cap on the pack, and an
// answer that is not whole is not an answer.
import { GitRemoteError } from './git-remote-error.ts';
import { GitWireError } from './git-wire-error.ts';
import { PktReader } from './pkt-line.ts';
import { isObjectId } from './ref-name.ts';

export interface FetchProgress {
  /** Bytes of the pack, in order. */
  readonly pack: Buffer[];
  /** The answer is complete. */
  readonly done: boolean;
}

export interface FetchAnswerLimits {
  readonly maxPackBytes: number;
}

/** In the order in which they may come (gitprotocol-v2); packfile-uris only come to those who ask. */
const sections = ['acknowledgments', 'shallow-info', 'wanted-refs', 'packfile'] as const;
type Section = (typeof sections)[number];

const defaultLimits: FetchAnswerLimits = { maxPackBytes: 1024 * 1024 * 1024 };
/** Lines outside the pack: a question of ours has a handful. */
const MAX_LINES = 100_000;
const PACK_BAND = 1;
const TEXT_BAND = 2;
const ERROR_BAND = 3;

export class FetchAnswerReader {
  /** Commits that the server has in common with us, and its readiness to send, where it said so. */
  readonly acknowledged: string[] = [];
  readonly shallow: string[] = [];
  readonly unshallow: string[] = [];
  readonly wantedRefs: { readonly id: string; readonly ref: string }[] = [];
  readonly #lines = new PktReader('v2');
  readonly #maxPackBytes: number;
  #section: Section | null = null;
  #seen = -1;
  #lineCount = 0;
  #packBytes = 0;
  #done = false;

  constructor(limits: FetchAnswerLimits = defaultLimits) {
    this.#maxPackBytes = limits.maxPackBytes;
  }

  feed(chunk: Buffer): FetchProgress {
    const pack: Buffer[] = [];
    for (const pkt of this.#lines.feed(chunk)) {
      if (this.#done) throw malformed('goes on after its end');
      if (pkt.kind === 'data') this.#take(pkt.payload, pack);
      else if (pkt.kind === 'flush') this.#end();
      else if (pkt.kind === 'delim') this.#endSection();
      else throw malformed('ends where only a proxy of git ends it');
    }
    if (this.#done && this.#lines.rest().length > 0) throw malformed('goes on after its end');
    return { pack, done: this.#done };
  }

  /** To be called when the body ends: throws when the answer was not whole or had no pack. */
  end(): void {
    if (!this.#done) throw malformed('is cut short');
    if (this.#section !== 'packfile') throw malformed('has no pack');
  }

  #take(payload: Buffer, pack: Buffer[]): void {
    if (this.#section === 'packfile') {
      this.#takeBand(payload, pack);
      return;
    }
    if (++this.#lineCount > MAX_LINES) throw new GitWireError('too-large', 'a fetch answer with too many lines');
    if (payload.subarray(0, 4).toString('latin1') === 'ERR ') throw new GitRemoteError(payload.subarray(4));
    const line = payload.toString('utf8').replace(/\n$/, '');
    if (this.#section === null) this.#startSection(line);
    else this.#takeLine(this.#section, line);
  }

  #startSection(line: string): void {
    const at = (sections as readonly string[]).indexOf(line);
    if (at < 0) throw new GitWireError('unsupported', 'a fetch answer with a section that was not asked for');
    if (at <= this.#seen) throw malformed('has its sections twice or out of order');
    this.#seen = at;
    this.#section = sections[at]!;
  }

  #endSection(): void {
    if (this.#section === null || this.#section === 'packfile')
      throw malformed('has a delimiter where no section ends');
    this.#section = null;
  }

  #end(): void {
    if (this.#section === null) throw malformed('ends where a section should begin');
    this.#done = true;
  }

  #takeLine(section: Exclude<Section, 'packfile'>, line: string): void {
    const [word = '', value = '', more] = line.split(' ');
    if (more !== undefined) throw malformed(`has a line in ${section} that is not known`);
    if (section === 'acknowledgments' && (line === 'NAK' || line === 'ready')) return;
    if (section === 'acknowledgments' && word === 'ACK' && isObjectId(value)) this.acknowledged.push(value);
    else if (section === 'shallow-info' && word === 'shallow' && isObjectId(value)) this.shallow.push(value);
    else if (section === 'shallow-info' && word === 'unshallow' && isObjectId(value)) this.unshallow.push(value);
    else if (section === 'wanted-refs' && isObjectId(word) && value !== '')
      this.wantedRefs.push({ id: word, ref: value });
    else throw malformed(`has a line in ${section} that is not known`);
  }

  #takeBand(payload: Buffer, pack: Buffer[]): void {
    const content = payload.subarray(1);
    switch (payload[0]) {
      case PACK_BAND:
        this.#packBytes += content.length;
        if (this.#packBytes > this.#maxPackBytes) {
          throw new GitWireError('too-large', `a fetch answer of more than ${this.#maxPackBytes} bytes`);
        }
        if (content.length > 0) pack.push(content);
        return;
      case TEXT_BAND:
        // Progress, which we asked not to have, or an empty packet to keep the connection open.
        return;
      case ERROR_BAND:
        throw new GitRemoteError(content);
      default:
        throw malformed('has a packet on a band that does not exist');
    }
  }
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `the fetch answer ${what}`);
}
