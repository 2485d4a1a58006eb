// Puts a message on a socket in as few writes as it takes. A head waits for the first bytes of its body; large pieces
// that arrive in one turn of the event loop leave together. Small pieces, events of a stream, are never held.
import { TurnCork } from '../turn-cork.ts';
import { encodeMessage } from './write-head.ts';

/** What is needed of a socket. */
export interface Sink {
  write(chunk: Buffer): boolean;
  write(text: string, encoding: 'latin1'): boolean;
  cork(): void;
  uncork(): void;
}

/** Below this, copying head and body into one buffer is cheaper than two writes. */
const joinBytes = 16 * 1024;

export class MessageWriter {
  readonly #sink: Sink;
  readonly #turn: TurnCork;
  #head: string;

  /** `head` may be empty: then it is written body alone. */
  constructor(sink: Sink, head: string) {
    this.#sink = sink;
    this.#turn = new TurnCork(sink);
    this.#head = head;
  }

  /** Bytes as they are to stand on the wire. False: stop until the sink has drained. */
  write(chunk: Buffer): boolean {
    const head = this.#head;
    if (head !== '') {
      this.#head = '';
      if (chunk.length <= joinBytes) return this.#sink.write(encodeMessage(head, chunk));
      this.#turn.hold();
      this.#sink.write(head, 'latin1');
    } else this.#turn.before(chunk);
    return this.#sink.write(chunk);
  }

  /** Sends a head whose body is not here yet. */
  flush(): void {
    if (this.#head === '') return;
    const head = this.#head;
    this.#head = '';
    this.#sink.write(head, 'latin1');
  }
}
