// What a sandbox gets to see of the answer of a storage: the object and the fields that describe it. Redirects, cookies
// and error pages stay here, because storages write addresses, signatures and what they were signed from into them.
import type { BodyWriter, Exchange, ResponseHead } from '../../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../../path/exchange/exchange-view.ts';
import type { HeaderList } from '../../../../path/exchange/header-list.ts';
import { type AnswerRewriter, RewrittenAnswer } from '../../../../path/exchange/rewritten-answer.ts';
import { lfsContentType } from './lfs-body.ts';
import { unsafeLfsAnswer } from './lfs-refusals.ts';
import type { LfsAction } from './lfs-tickets.ts';

const passedOn = new Set([
  'accept-ranges',
  'age',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'retry-after',
]);

/** `inner` in payload form; `host` is the LFS server that named the storage. */
export function storageAnswer(inner: Exchange, action: LfsAction, host: string): Exchange {
  return new StorageAnswer(new RewrittenAnswer(inner, ({ status }) => rewriterFor(status, action, host)), host);
}

class StorageAnswer extends ExchangeView {
  readonly #host: string;

  constructor(inner: Exchange, host: string) {
    super(inner);
    this.#host = host;
  }

  /** Early hints are addresses. */
  override inform(): void {}

  override respond(head: ResponseHead): BodyWriter {
    const { status } = head;
    if (status >= 300 && status < 400 && status !== 304) {
      throw unsafeLfsAnswer(this.#host, `named a storage that answers with a redirect (status ${status})`);
    }
    const headers = head.headers.without((key) => !passedOn.has(key));
    return this.inner.respond({ ...head, reason: '', headers: status < 400 ? headers : errorHeaders(headers) });
  }
}

function errorHeaders(headers: HeaderList): HeaderList {
  return headers
    .without((key) => key !== 'retry-after' && key !== 'content-range' && key !== 'date')
    .append('Content-Type', lfsContentType);
}

/** Null: as it comes, while it comes. */
function rewriterFor(status: number, action: LfsAction, host: string): AnswerRewriter | null {
  if (status >= 400) {
    const message = `the storage that ${host} names answered with status ${status}`;
    return { feed: () => [], end: () => [Buffer.from(`${JSON.stringify({ message })}\n`)] };
  }
  if (action === 'download' || status === 204 || status === 304) return null;
  // Of what was done git-lfs reads the status alone.
  return { feed: () => [], end: () => [] };
}
