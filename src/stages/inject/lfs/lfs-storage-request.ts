// The request for an object as the storage gets it: its own address and fields from behind the ticket, and of what the
// sandbox sent only what an object transfer needs. No cookie, no login, no name of the sandbox travels.
import { enrich, fieldsToSend } from '../../../path/enrich.ts';
import type { AnswerScrub, BodyScrub } from '../../../path/exchange/answer-scrub.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import type { Authorized, Injected } from '../../../path/flow.ts';
import { reveal, Secret } from '../../../path/secret.ts';
import { KnownSecrets } from '../scrub/known-secrets.ts';
import { Scrubs } from '../scrub/secret-scrub.ts';
import type { StorageAccess } from './lfs-ticket-store.ts';

/** What inject needs of the store. */
export interface LfsAccess {
  open(ticket: string): StorageAccess | null;
}

const passedOn: Readonly<Record<string, readonly string[]>> = {
  GET: [
    'Accept',
    'If-Match',
    'If-Modified-Since',
    'If-None-Match',
    'If-Range',
    'If-Unmodified-Since',
    'Range',
    'User-Agent',
  ],
  PUT: ['Accept', 'Content-Length', 'Content-Type', 'User-Agent'],
  POST: ['Accept', 'Content-Length', 'Content-Type', 'User-Agent'],
};

/** `openScrub` null: answers are not searched. Authorize has found the ticket to be good for this request; a disagreement forwards nothing. */
export function toStorage(
  flow: Authorized,
  tickets: LfsAccess | null,
  openScrub: (() => AnswerScrub | null) | null,
): Injected {
  const { permission, sandbox, canonical } = flow;
  const sent = fieldsToSend(flow);
  const access = tickets?.open(permission.git?.ticket ?? '') ?? null;
  if (access === null) throw new Error('an LFS ticket was found good and is not there');
  if (access.grant.sandboxId !== sandbox.id || access.grant.sandboxSince !== sandbox.createdAt) {
    throw new Error(`an LFS ticket of another sandbox than ${sandbox.id}`);
  }
  const headers = new HeaderList();
  const own = new Set(access.headers.map(([name]) => name.toLowerCase()));
  for (const name of passedOn[canonical.method] ?? []) {
    const key = name.toLowerCase();
    const value = own.has(key) ? undefined : sent.get(key);
    if (value !== undefined) headers.append(name, value);
  }
  // The name of an object is the hash of its plain bytes, and with no Accept-Encoding any coding would do.
  headers.append('Accept-Encoding', 'identity');
  for (const [name, value] of access.headers) headers.append(name, reveal(value));
  const outgoing = new OutgoingRequest(reveal(access.target), headers, {
    origin: access.origin,
    scrub: openScrub === null ? null : scrubForStorage(access, openScrub()),
  });
  return enrich(flow, { outgoing, injected: null });
}

// Keeps the login that a storage of LFS objects gave us, in the address and in fields, out of the storage's own answer. It is
// good for one object and a short while, and there are many: so each is searched for in its own answer alone, and does
// not crowd out the known credentials.
/** Shorter parameters are ids of parts, times to live, versions. */
const minSignatureChars = 16;
/**
 * Parameters and fields that open nothing, and whose values are words (AWS4-HMAC-SHA256) that an object may well hold: one
 * that is masked for them is not the object any more.
 */
const opensNothing =
  /^(?:x-(?:amz|goog|ms)-)?(?:algorithm|date|signedheaders|content-.*)$|^(?:accept|response-.*|s[et]|sk[et]|rsc.)$/i;

/** `inner`: what searches for everything else; null: there is nothing else. */
export function scrubForStorage(access: StorageAccess, inner: AnswerScrub | null): AnswerScrub | null {
  const known = new KnownSecrets();
  const note = (value: string): void => known.note(new Secret('lfs storage', value));
  for (const [name, value] of access.headers) {
    if (opensNothing.test(name)) continue;
    const text = reveal(value);
    // `Bearer TOKEN`: the token may come back by itself.
    const token = text.slice(text.indexOf(' ') + 1);
    if (token.length >= minSignatureChars) note(token);
  }
  for (const [name, value] of new URLSearchParams(reveal(access.target).split('?')[1] ?? '')) {
    if (value.length >= minSignatureChars && !opensNothing.test(name)) note(value);
  }
  const own = new Scrubs(known).open();
  return own === null || inner === null ? (own ?? inner) : new TwoScrubs(inner, own);
}

class TwoScrubs implements AnswerScrub {
  readonly #first: AnswerScrub;
  readonly #second: AnswerScrub;

  constructor(first: AnswerScrub, second: AnswerScrub) {
    this.#first = first;
    this.#second = second;
  }

  get replaced(): number {
    return this.#first.replaced + this.#second.replaced;
  }

  text(text: string): string {
    return this.#second.text(this.#first.text(text));
  }

  fields(list: Parameters<AnswerScrub['fields']>[0]): void {
    this.#first.fields(list);
    this.#second.fields(list);
  }

  openBody(): BodyScrub {
    const first = this.#first.openBody();
    const second = this.#second.openBody();
    return {
      get waiting() {
        return first.waiting + second.waiting;
      },
      feed: (chunk) => second.feed(first.feed(chunk)),
      end: () => Buffer.concat([second.feed(first.end()), second.end()]),
      release: () => Buffer.concat([second.feed(first.release()), second.release()]),
    };
  }
}
