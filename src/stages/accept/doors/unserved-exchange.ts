// Something at a door that is not a request, for example a failed handshake. It can be refused, and the refusal is recorded
// like any other, but nothing can be forwarded. Each kind decides how the client learns of the refusal.
import type { BodyForm, BodyWriter, Exchange, Framing } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';

export abstract class UnservedExchange implements Exchange {
  readonly form: BodyForm = 'payload';
  readonly requestFraming: Framing = { kind: 'none' };
  readonly bytesIn: number = 0;
  bytesOut = 0;
  answered = false;
  onAbandoned: (() => void) | null = null;
  onFinished: (() => void) | null = null;

  abstract answer(status: number, headers: HeaderList, body: Buffer): void;
  abstract abort(): void;

  asPayload(): Exchange {
    return this;
  }

  sendBody(): void {
    throw nothingHere();
  }

  inform(): void {}

  respond(): BodyWriter {
    throw nothingHere();
  }

  goRaw(): BodyWriter {
    throw nothingHere();
  }
}

function nothingHere(): Error {
  return new Error('there is no request here that could be served');
}
