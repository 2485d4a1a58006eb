// The answer of an upstream that did not take the credential, held back until it is known whether there is another one.
// Then it is passed on as it came, or dropped. Never holds more than a little of it: past that the upstream waits.
import type { BodyWriter, ResponseHead } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';

const maxHeldBytes = 64 * 1024;

export class RetryAnswer implements BodyWriter {
  /** Set by the relay that the answer comes from. */
  onDrain: (() => void) | null = null;
  readonly #head: ResponseHead;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #ended: { readonly trailers: HeaderList | null } | null = null;
  #hasFailed = false;
  #isDropped = false;
  #to: BodyWriter | null = null;

  constructor(head: ResponseHead) {
    this.#head = head;
  }

  /** All of it has come: its connection is free again. */
  get isWhole(): boolean {
    return this.#ended !== null;
  }

  /** It broke off while it was held: there is nothing to pass on. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  drop(): void {
    this.#isDropped = true;
    this.#held = [];
  }

  /** To the client after all, and what is still to come behind it. */
  passOnTo(open: (head: ResponseHead) => BodyWriter): void {
    const to = open(this.#head);
    to.onDrain = () => this.onDrain?.();
    this.#to = to;
    const held = this.#held;
    this.#held = [];
    let more = true;
    for (const chunk of held) more = to.write(chunk);
    if (this.#ended !== null) {
      to.end(this.#ended.trailers);
      return;
    }
    if (held.length === 0) to.flush();
    if (more) this.onDrain?.();
  }

  // From the upstream.

  write(chunk: Buffer): boolean {
    if (this.#isDropped) return true;
    if (this.#to !== null) return this.#to.write(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < maxHeldBytes;
  }

  flush(): void {
    this.#to?.flush();
  }

  end(trailers: HeaderList | null): void {
    if (this.#to === null) this.#ended = { trailers };
    else this.#to.end(trailers);
  }

  fail(reason: Error): void {
    this.#hasFailed = true;
    this.#to?.fail(reason);
  }
}
