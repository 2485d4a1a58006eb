// The client's side of a DNS question on the path. A DNS answer has no room for a message: the text of a refusal goes to the
// journal, and its code decides what is answered.
import type { BodyForm, BodyWriter, Exchange, Framing } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';

export class DnsExchange implements Exchange {
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing = { kind: 'none' };
  readonly bytesIn = 0;
  readonly bytesOut = 0;
  answered = false;
  /** Of the refusal; 0: there was none. */
  status = 0;
  code: string | null = null;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;

  answer(status: number, headers: HeaderList): void {
    this.status = status;
    this.code = headers.get('x-sallyport-refused') ?? null;
    this.answered = true;
  }

  abort(): void {}

  inform(): void {}

  asPayload(): Exchange {
    return this;
  }

  sendBody(to: BodyWriter): void {
    to.end(null);
  }

  respond(): BodyWriter {
    throw new Error('a DNS question is not answered by an upstream');
  }

  goRaw(): BodyWriter {
    throw new Error('a DNS question is no connection');
  }
}
