// What a client may ask of an answer that is searched on its way back: only codings that can be taken off and put on
// again, only the extension of WebSocket that can be read. Never asks for what the client did not ask for.
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
 * Accept-Encoding as it goes out (RFC 9110 section 12.5.3), all its values in one. Absent: any coding would
 * do, so we ask for none.
 */
export function readableCodings(value: string | undefined): string {
  if (value === undefined) return plain;
  if (value.length > maxRememberedChars) return cutDown(value);
  let codings = answered.get(value);
  if (codings === undefined) {
    codings = cutDown(value);
    if (answered.size >= maxAnswered) answered.clear();
    answered.set(value, codings);
  }
  return codings;
}

function cutDown(value: string): string {
  const elements = value
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '');
  const named = new Set(elements.map(codingIn));
  const kept: string[] = [];
  for (const element of elements) {
    const coding = codingIn(element);
    if (readable.has(coding)) kept.push(element);
    else if (coding === '*') {
      const weight = element.slice(1).trim();
      for (const one of refusal.test(element) ? [] : forAnyCoding) if (!named.has(one)) kept.push(`${one}${weight}`);
    }
  }
  // A server that finds everything else refused could think that plain is refused too, and answer 406.
  return kept.some((element) => !refusal.test(element)) ? kept.join(', ') : plain;
}

function codingIn(element: string): string {
  return element.split(';', 1)[0]!.trim().toLowerCase();
}

/** Sec-WebSocket-Extensions as it goes out; null: it does not. */
export function readableExtensions(value: string): string | null {
  return readableOffers([value]);
}
