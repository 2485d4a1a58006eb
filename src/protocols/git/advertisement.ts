// What a server says it has and can do, before a fetch or a push (`info/refs?service=…`), in protocol version 0, 1 and 2.
// Read incrementally and bounded: it comes from the upstream, and a large repository has very many refs.
import { GitRemoteError } from './git-remote-error.ts';
import { GitWireError } from './git-wire-error.ts';
import { WorkBudget } from './objects/work-budget.ts';
import { PktReader } from './pkt-line.ts';
import { decodeText, isObjectId } from './ref-name.ts';

export type GitService = 'git-upload-pack' | 'git-receive-pack';

export interface AdvertisedRef {
  readonly id: string;
  /** As sent: a peeled tag is a ref of its own whose name ends in `^{}`. */
  readonly name: string;
}

export interface Advertisement {
  /** Null when the answer does not name it, as git's own server does in version 2. */
  readonly service: GitService | null;
  readonly version: 0 | 1 | 2;
  readonly capabilities: readonly string[];
  /** Empty in version 2, where refs are asked for with ls-refs. */
  readonly refs: readonly AdvertisedRef[];
  /** Objects the server has without a ref of ours to them (`.have`). */
  readonly haves: readonly string[];
  readonly shallow: readonly string[];
}

export interface AdvertisementLimits {
  readonly maxBytes: number;
}

const defaultLimits: AdvertisementLimits = { maxBytes: 64 * 1024 * 1024 };
const NO_REFS = 'capabilities^{}';
/** What a line takes in memory besides its text. */
const LINE_BYTES = 160;

/** The service of a `# service=…` line; null when it is another line. */
export function serviceOf(line: string): GitService | null {
  if (!line.startsWith('# ')) return null;
  if (line === '# service=git-upload-pack') return 'git-upload-pack';
  if (line === '# service=git-receive-pack') return 'git-receive-pack';
  throw new GitWireError('malformed', 'an advertisement for a service that is neither fetch nor push');
}

export class AdvertisementReader {
  readonly #lines = new PktReader('v0');
  readonly #maxBytes: number;
  readonly #refs: AdvertisedRef[] = [];
  readonly #haves: string[] = [];
  readonly #shallow: string[] = [];
  #capabilities: string[] | null = null;
  #service: GitService | null = null;
  #version: 0 | 1 | 2 | null = null;
  #part: 'first' | 'service-flush' | 'lines' | 'end' = 'first';
  readonly #budget: WorkBudget;
  #bytes = 0;

  constructor(limits: AdvertisementLimits = defaultLimits, budget = new WorkBudget()) {
    this.#maxBytes = limits.maxBytes;
    this.#budget = budget;
  }

  feed(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      throw new GitWireError('too-large', `an advertisement of more than ${this.#maxBytes} bytes`);
    }
    for (const pkt of this.#lines.feed(chunk)) {
      if (this.#part === 'end') throw malformed('goes on after its end');
      if (pkt.kind === 'data') this.#take(pkt.payload);
      else this.#flush();
    }
  }

  /** What was advertised; throws when it is not whole. */
  end(): Advertisement {
    if (this.#part !== 'end' || this.#lines.rest().length > 0) throw malformed('is cut short');
    return {
      service: this.#service,
      version: this.#version ?? 0,
      capabilities: this.#capabilities ?? [],
      refs: this.#refs,
      haves: this.#haves,
      shallow: this.#shallow,
    };
  }

  #flush(): void {
    this.#part = this.#part === 'service-flush' ? 'lines' : 'end';
  }

  #take(payload: Buffer): void {
    this.#budget.spend(LINE_BYTES + payload.length);
    this.#budget.hold(LINE_BYTES + payload.length);
    if (this.#part === 'service-flush') throw malformed('goes on after its service line without a flush');
    if (payload.subarray(0, 4).toString('latin1') === 'ERR ') throw new GitRemoteError(payload.subarray(4));
    const line = payload.at(-1) === 0x0a ? payload.subarray(0, -1) : payload;
    const text = line.toString('latin1');
    if (this.#part === 'first') {
      this.#part = 'lines';
      this.#service = serviceOf(text);
      if (this.#service !== null) {
        this.#part = 'service-flush';
        return;
      }
    }
    if (this.#version === null && text.startsWith('version ')) {
      this.#version = versionOf(text);
      return;
    }
    this.#version ??= 0;
    if (this.#version !== 2) {
      this.#takeRef(line);
      return;
    }
    this.#capabilities ??= [];
    this.#capabilities.push(text);
  }

  #takeRef(line: Buffer): void {
    const nul = line.indexOf(0);
    if (nul >= 0 !== (this.#capabilities === null)) {
      throw malformed('has its capabilities somewhere else than on its first ref');
    }
    if (nul >= 0) {
      const list = decodeText(line.subarray(nul + 1), 'the capability list');
      this.#capabilities = list.split(' ').filter((word) => word !== '');
    }
    const text = decodeText(nul >= 0 ? line.subarray(0, nul) : line, 'an advertised ref');
    if (text.startsWith('shallow ')) {
      this.#takeShallow(text.slice('shallow '.length));
      return;
    }
    const id = text.slice(0, 40);
    const name = text.slice(41);
    if (!isObjectId(id) || text[40] !== ' ' || name === '') throw malformed('has a line that is not "id ref"');
    if (name === '.have') this.#haves.push(id);
    else if (name !== NO_REFS) this.#refs.push({ id, name });
  }

  #takeShallow(id: string): void {
    if (!isObjectId(id)) throw malformed('has a shallow line without an object id');
    this.#shallow.push(id);
  }
}

export function parseAdvertisement(bytes: Buffer): Advertisement {
  const reader = new AdvertisementReader();
  reader.feed(bytes);
  return reader.end();
}

/** What each ref leads to: a tag that was peeled to its commit, everything else to itself. */
export function peelRefs(refs: readonly AdvertisedRef[]): Map<string, string> {
  const peeled = new Map<string, string>();
  for (const { id, name } of refs) peeled.set(name.endsWith('^{}') ? name.slice(0, -3) : name, id);
  return peeled;
}

function versionOf(text: string): 1 | 2 {
  if (text === 'version 1') return 1;
  if (text === 'version 2') return 2;
  throw new GitWireError('unsupported', 'an advertisement in a version of the protocol that is not known');
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `the advertisement ${what}`);
}
