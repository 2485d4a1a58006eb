// An exchange that stands in front of another: everything passes through but what a subclass changes (the body that is
// sent on, the answer that comes back). Used by the stages that read or rewrite what they judge.
import type { BodyForm, BodyWriter, Exchange, Framing, ResponseHead } from './exchange.ts';
import type { HeaderList } from './header-list.ts';

export class ExchangeView implements Exchange {
  protected readonly inner: Exchange;

  constructor(inner: Exchange) {
    this.inner = inner;
  }

  get form(): BodyForm {
    return this.inner.form;
  }

  get requestFraming(): Framing {
    return this.inner.requestFraming;
  }

  get bytesIn(): number {
    return this.inner.bytesIn;
  }

  get bytesOut(): number {
    return this.inner.bytesOut;
  }

  get answered(): boolean {
    return this.inner.answered;
  }

  get heldBackUntilMs(): number {
    return this.inner.heldBackUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  get onAbandoned(): (() => void) | null {
    return this.inner.onAbandoned;
  }

  set onAbandoned(act: (() => void) | null) {
    this.inner.onAbandoned = act;
  }

  get onFinished(): (() => void) | null {
    return this.inner.onFinished;
  }

  set onFinished(act: (() => void) | null) {
    this.inner.onFinished = act;
  }

  asPayload(): Exchange {
    if (this.form === 'payload') return this;
    throw new Error('an exchange that is already in use cannot change its form');
  }

  sendBody(to: BodyWriter): void {
    this.inner.sendBody(to);
  }

  inform(status: number, headers: HeaderList): void {
    this.inner.inform(status, headers);
  }

  respond(head: ResponseHead): BodyWriter {
    return this.inner.respond(head);
  }

  goRaw(to: BodyWriter): BodyWriter {
    return this.inner.goRaw(to);
  }

  answer(status: number, headers: HeaderList, body: Buffer): void {
    this.inner.answer(status, headers, body);
  }

  abort(): void {
    this.inner.abort();
  }
}
