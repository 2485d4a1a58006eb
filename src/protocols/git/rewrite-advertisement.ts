// Changes what a server says it can do, on its way to the client: the capability list of the first ref and nothing else,
// the rest passes byte for byte as it comes, however many refs there are. The use: `no-thin`, which makes a client send
// packs without missing delta bases. `push-cert` may stay: a signed push is read here, and it travels unchanged, so its
// signature still holds at the server.

import { serviceOf } from './advertisement.ts';
import { GitWireError } from './git-wire-error.ts';
import { encodePkt, PktReader } from './pkt-line.ts';

export interface CapabilityChange {
  /** Added at the end unless there; in full, e.g. `no-thin`. */
  readonly add: readonly string[];
  /** Names; `push-cert` removes `push-cert=…` as well. */
  readonly remove: readonly string[];
  /** A word of the list with which it must not go on: the client shows what stands here in place of all of it. */
  readonly refuse?: ReadonlyMap<string, string>;
}

/** What the gateway changes in the advertisement for a push. */
export const pushAdvertisementChange: CapabilityChange = {
  add: ['no-thin'],
  remove: [],
  // The push itself is refused too, but git shows only the status of that answer.
  refuse: new Map([
    [
      'object-format=sha256',
      'Sallyport cannot judge pushes to SHA-256 repositories: nothing was sent. Push from outside the sandbox, or to a SHA-1 repository.',
    ],
  ]),
};

/**
 * Feed it what the upstream sends and pass on what it returns. It holds back at most one pkt-line, before the first ref;
 * an error line, or an advertisement without refs or in version 2, passes unchanged.
 */
export class AdvertisementRewriter {
  readonly #change: CapabilityChange;
  readonly #lines = new PktReader('v0');
  #part: 'first' | 'service-flush' | 'version-or-ref' | 'ref' | 'through' = 'first';
  #isRefused = false;

  constructor(change: CapabilityChange) {
    this.#change = change;
  }

  feed(chunk: Buffer): Buffer[] {
    if (this.#isRefused) return [];
    if (this.#part === 'through') return [chunk];
    this.#lines.add(chunk);
    const out: Buffer[] = [];
    while (!this.#isThrough()) {
      const pkt = this.#lines.next();
      if (pkt === null) return out;
      if (pkt.kind === 'data') out.push(this.#line(pkt.payload));
      else out.push(this.#flush());
    }
    const rest = this.#lines.rest();
    if (rest.length > 0 && !this.#isRefused) out.push(rest);
    return out;
  }

  /** Throws when what came ended before it could be read. */
  end(): void {
    if (!this.#isThrough()) throw new GitWireError('malformed', 'the advertisement is cut short');
  }

  #isThrough(): boolean {
    return this.#part === 'through';
  }

  #flush(): Buffer {
    this.#part = this.#part === 'service-flush' ? 'version-or-ref' : 'through';
    return Buffer.from('0000');
  }

  #line(payload: Buffer): Buffer {
    if (this.#part === 'service-flush') {
      throw new GitWireError('malformed', 'the advertisement goes on after its service line without a flush');
    }
    const text = payload.toString('latin1').replace(/\n$/, '');
    if (this.#part === 'first' && serviceOf(text) !== null) {
      this.#part = 'service-flush';
      return encodePkt(payload);
    }
    if (this.#part !== 'ref' && text === 'version 1') {
      this.#part = 'ref';
      return encodePkt(payload);
    }
    this.#part = 'through';
    const nul = payload.indexOf(0);
    if (nul < 0) return encodePkt(payload);
    const refusal = this.#refusalOf(payload, nul);
    this.#isRefused = refusal !== undefined;
    return encodePkt(refusal === undefined ? this.#rewritten(payload, nul) : `ERR ${refusal}\n`);
  }

  #refusalOf(payload: Buffer, nul: number): string | undefined {
    const { refuse } = this.#change;
    const words = payload
      .subarray(nul + 1)
      .toString('latin1')
      .trim()
      .split(' ');
    return words.map((word) => refuse?.get(word)).find((text) => text !== undefined);
  }

  #rewritten(payload: Buffer, nul: number): Buffer {
    const list = payload.subarray(nul + 1).toString('latin1');
    const newline = list.endsWith('\n') ? '\n' : '';
    const words = list.slice(0, list.length - newline.length).split(' ');
    const kept = words.filter((word) => !this.#change.remove.includes(word.split('=')[0]!));
    const added = this.#change.add.filter((word) => !kept.includes(word));
    return Buffer.concat([
      payload.subarray(0, nul + 1),
      Buffer.from(`${[...kept, ...added].join(' ')}${newline}`, 'latin1'),
    ]);
  }
}

export function rewriteAdvertisement(bytes: Buffer, change: CapabilityChange): Buffer {
  const rewriter = new AdvertisementRewriter(change);
  const out = rewriter.feed(bytes);
  rewriter.end();
  return Buffer.concat(out);
}
