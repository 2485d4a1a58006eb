// One run of bytes on its way out, searched as it comes: a body without its framing, a WebSocket message, what a coding was
// taken off. A match may span any number of pieces with other bytes between them on the wire, so the run says up to which
// position bytes may already go out. Keeps only what could still become a match.
import { unfinished } from '../scrub/match-form.ts';
import type { OutboundSigns, Sign } from './outbound-signs.ts';

const nowhere = Number.POSITIVE_INFINITY;
const none = Buffer.alloc(0);
/** So few bytes of a beginning tell nothing: every key of a provider begins alike. */
const maxReleasedBytes = 4;

interface Piece {
  readonly bytes: number;
  readonly wireAt: number;
  /** Its bytes stand on the wire one by one; else it was made of what begins there. */
  readonly isPlain: boolean;
}

/** Throws the refusal for what must not go out; what it lets pass is passed over. */
type OnFound = (sign: Sign) => void;

export class SearchedRun {
  /** Where on the wire something begins that more bytes could complete. */
  openAt = nowhere;
  readonly #signs: OutboundSigns;
  readonly #maxBytes: number;
  readonly #onFound: OnFound;
  #taken = 0;
  /** What could still become a match, and the pieces that it is made of. */
  #held: Buffer = none;
  #pieces: Piece[] = [];

  /** What comes after `maxBytes` is not searched. */
  constructor(signs: OutboundSigns, maxBytes: number, onFound: OnFound) {
    this.#signs = signs;
    this.#maxBytes = maxBytes;
    this.#onFound = onFound;
  }

  /** Nothing more will be searched. */
  get isPast(): boolean {
    return this.#taken >= this.#maxBytes && this.#held.length === 0;
  }

  feed(piece: Buffer, wireAt: number, isPlain = true): void {
    if (this.isPast || piece.length === 0) return;
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    this.#take(bytes, piece.length, () => this.#pieces.push({ bytes: piece.length, wireAt, isPlain }));
  }

  /** Pieces that stand apart on the wire, searched at once: a search for each would cost far more than they do. */
  feedAll(pieces: readonly Buffer[], wireAts: readonly number[]): void {
    if (pieces.length === 1) this.feed(pieces[0]!, wireAts[0]!);
    if (pieces.length < 2 || this.isPast) return;
    const bytes = Buffer.concat([this.#held, ...pieces]);
    this.#take(bytes, bytes.length - this.#held.length, () => {
      pieces.forEach((piece, i) => {
        this.#pieces.push({ bytes: piece.length, wireAt: wireAts[i]!, isPlain: true });
      });
    });
  }

  /** No more will come: what waited was nothing. */
  end(): void {
    if (this.#held.length > 0) this.#search(this.#held, true);
    this.#forget();
  }

  /**
   * Nothing more has come for a while: what waits may go if it is too little to tell anything. It is still the beginning of
   * what comes next.
   */
  release(): void {
    if (this.#held.length <= maxReleasedBytes) this.openAt = nowhere;
  }

  #take(bytes: Buffer, fresh: number, notePieces: () => void): void {
    this.#taken += fresh;
    const open = this.#search(bytes, false);
    if (open === bytes.length) {
      this.#forget();
      return;
    }
    notePieces();
    this.#keep(bytes, open);
  }

  /** Where something begins that is not complete; the length: nowhere. */
  #search(bytes: Buffer, last: boolean): number {
    const search = this.#signs.asSent;
    let at = 0;
    while (search.find(bytes, at)) {
      // Not behind its end: another may begin inside what is let pass.
      at = search.start + 1;
      if (search.end !== unfinished) this.#onFound(search.label);
      else if (!last) return at - 1;
    }
    return bytes.length;
  }

  #keep(bytes: Buffer, open: number): void {
    const pieces = this.#pieces;
    let all = 0;
    for (const piece of pieces) all += piece.bytes;
    // The first of them may have been cut already.
    let before = all - bytes.length + open;
    let gone = 0;
    while (before >= pieces[gone]!.bytes) before -= pieces[gone++]!.bytes;
    if (gone > 0) this.#pieces = pieces.slice(gone);
    const { wireAt, isPlain } = this.#pieces[0]!;
    this.#held = bytes.subarray(open);
    this.openAt = isPlain ? wireAt + before : wireAt;
  }

  #forget(): void {
    this.#held = none;
    this.openAt = nowhere;
    if (this.#pieces.length > 0) this.#pieces = [];
  }
}
