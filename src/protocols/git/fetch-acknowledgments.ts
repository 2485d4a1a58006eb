// Which of some commits a server has: the first half of a version 2 fetch, in which the client names what it has and the
// server acknowledges what it knows. Nothing is fetched: if the server goes on to a pack, that part is not read.
import { GitRemoteError } from './git-remote-error.ts';
import { GitWireError } from './git-wire-error.ts';
import { PktReader } from './pkt-line.ts';
import { isObjectId } from './ref-name.ts';

export class AcknowledgmentReader {
  readonly #lines = new PktReader('v2');
  readonly #asked: ReadonlySet<string>;
  readonly #known = new Set<string>();
  #part: 'title' | 'lines' | 'done' = 'title';

  /** What else a server acknowledges would be no answer, and could be without end. */
  constructor(asked: Iterable<string>) {
    this.#asked = new Set(asked);
  }

  feed(chunk: Buffer): void {
    if (this.#part === 'done') return;
    this.#lines.add(chunk);
    for (let pkt = this.#lines.next(); pkt !== null; pkt = this.#lines.next()) {
      if (pkt.kind !== 'data') {
        if (this.#part === 'title') throw malformed();
        this.#part = 'done';
        return;
      }
      if (pkt.payload.subarray(0, 4).toString('latin1') === 'ERR ') throw new GitRemoteError(pkt.payload.subarray(4));
      this.#take(pkt.payload.toString('latin1').replace(/\n$/, ''));
    }
  }

  end(): ReadonlySet<string> {
    if (this.#part !== 'done') throw new GitWireError('malformed', 'the acknowledgments of the server are cut short');
    return this.#known;
  }

  #take(line: string): void {
    if (this.#part === 'title') {
      if (line !== 'acknowledgments') throw malformed();
      this.#part = 'lines';
      return;
    }
    if (line === 'NAK' || line === 'ready') return;
    const id = line.slice('ACK '.length);
    if (!line.startsWith('ACK ') || !isObjectId(id) || !this.#asked.has(id)) throw malformed();
    this.#known.add(id);
  }
}

function malformed(): GitWireError {
  return new GitWireError('malformed', 'the server acknowledges in a form that is not of the protocol');
}
