// An exchange whose request body is taken from somewhere else than the client: from where it was kept while it was
// judged, or as it comes after its beginning was read. The answer goes to the client as always.
import { pump } from './body-pull.ts';
import type { BodyWriter, Exchange, Framing } from './exchange.ts';
import { ExchangeView } from './exchange-view.ts';

export class ReplacedBody extends ExchangeView {
  readonly #framing: Framing;
  readonly #source: () => AsyncIterable<Buffer>;

  /** `inner` in payload form. */
  constructor(inner: Exchange, framing: Framing, source: () => AsyncIterable<Buffer>) {
    super(inner);
    this.#framing = framing;
    this.#source = source;
  }

  override get requestFraming(): Framing {
    return this.#framing;
  }

  override sendBody(to: BodyWriter): void {
    void pump(this.#source(), to);
  }
}

/** `inner` with a body that is in memory. */
export function withBytes(inner: Exchange, bytes: Buffer): ReplacedBody {
  return new ReplacedBody(inner, { kind: 'length', bytes: bytes.length }, () => once(bytes));
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
