// What a client may ask of an answer that is searched on its way back: only codings that can be taken off and put on
// again, only the extension of WebSocket that can be read. Never adds a wish that the client did not have.
import { readableOffers } from '../../../protocols/websocket/websocket-extensions.ts';

/** Those that forward/decode-answer.ts reads. */
const readable: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'identity']);
/** What `*` stands for that can be read, but for identity, which is welcome anyway. */
const forAnyCoding: readonly string[] = ['gzip', 'br', 'deflate'];
const plain = 'identity';
/** A client says the same with every request; a hostile one may think up others without end. */
const maxAnswered = 256;
const maxRememberedChars = 256;
const answered = new Map<string, string>();
const refusal = /;\s*q\s*=\s*0(?:\.0{0,3})?\s*$/i;

/**
 * Accept-Encoding as it goes out (RFC 9110 section 12.5.3), all its values in one. Absent: without a wish any coding would
 * be welcome, so it asks for none.
 */
export function readableCodings(value: string | undefined): string {
  if (value === undefined) return plain;
  if (value.length > maxRememberedChars) return cutDown(value);
  let wish = answered.get(value);
  if (wish === undefined) {
    wish = cutDown(value);
    if (answered.size >= maxAnswered) answered.clear();
    answered.set(value, wish);
  }
  return wish;
}

function cutDown(value: string): string {
  const wishes = value
    .split(',')
    .map((wish) => wish.trim())
    .filter((wish) => wish !== '');
  const named = new Set(wishes.map(codingIn));
  const kept: string[] = [];
  for (const wish of wishes) {
    const coding = codingIn(wish);
    if (readable.has(coding)) kept.push(wish);
    else if (coding === '*') {
      const weight = wish.slice(1).trim();
      for (const one of refusal.test(wish) ? [] : forAnyCoding) if (!named.has(one)) kept.push(`${one}${weight}`);
    }
  }
  // With everything else refused a server could take plain for refused, too, and answer 406.
  return kept.some((wish) => !refusal.test(wish)) ? kept.join(', ') : plain;
}

function codingIn(wish: string): string {
  return wish.split(';', 1)[0]!.trim().toLowerCase();
}

/** Sec-WebSocket-Extensions as it goes out; null: it does not. */
export function readableExtensions(value: string): string | null {
  return readableOffers([value]);
}
