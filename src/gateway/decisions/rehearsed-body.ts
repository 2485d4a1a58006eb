// The conversation of a request that nobody has sent: it has a body to read and nobody to answer. Tells whether the body was
// asked for, since what is not read decides nothing.
import { pump } from '../../path/exchange/body-pull.ts';
import type { BodyWriter, Exchange, Framing } from '../../path/exchange/exchange.ts';

export class RehearsedBody implements Exchange {
  readonly form = 'payload';
  readonly requestFraming: Framing;
  readonly bytesIn = 0;
  readonly bytesOut = 0;
  readonly answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;
  wasRead = false;
  readonly #bytes: Buffer;

  /** Empty: none is sent. */
  constructor(text: string) {
    this.#bytes = Buffer.from(text);
    this.requestFraming = text === '' ? { kind: 'none' } : { kind: 'length', bytes: this.#bytes.length };
  }

  asPayload(): this {
    return this;
  }

  sendBody(to: BodyWriter): void {
    this.wasRead = true;
    void pump(once(this.#bytes), to);
  }

  inform(): never {
    return nobody();
  }

  respond(): never {
    return nobody();
  }

  goRaw(): never {
    return nobody();
  }

  answer(): never {
    return nobody();
  }

  abort(): void {}
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}

function nobody(): never {
  throw new Error('a rehearsed request is never answered');
}
