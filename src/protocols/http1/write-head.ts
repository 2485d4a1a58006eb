// Writes heads and chunks. Refuses whatever would be read back as something else: a line break or control byte in a
// name or value is an injected field, and so is a character above U+00FF, which Latin-1 cuts down to its low byte
// (U+010A becomes LF).
import { largeBytes } from '../turn-cork.ts';
import { Http1Error } from './http1-error.ts';
import { mayTrail } from './trailer-fields.ts';

const CRLF = Buffer.from('\r\n', 'latin1');
const LAST_CHUNK = Buffer.from('0\r\n\r\n', 'latin1');

const none: readonly string[] = [];

/**
 * The head with its blank line: the start line, then whole lines of our own (`Host: …`), then the fields in the order
 * and case given.
 */
export function renderHead(
  startLine: string,
  names: readonly string[],
  values: readonly string[],
  ownLines: readonly string[] = none,
): string {
  let first = startLine;
  for (const line of ownLines) first += `\r\n${line}`;
  return renderFields(first, 1 + ownLines.length, names, values);
}

/** Head and body in one buffer, so that a whole message is one write. */
export function encodeMessage(head: string, body: Buffer | null): Buffer {
  if (body === null || body.length === 0) return Buffer.from(head, 'latin1');
  const message = Buffer.allocUnsafe(head.length + body.length);
  message.write(head, 0, 'latin1');
  body.copy(message, head.length);
  return message;
}

/**
 * The payload as one chunk. An event of a stream is one piece: three would be three records of TLS, and three packets. Of what is
 * large only the beginning is copied, so much that no writer takes it for something small that must not wait. Nothing for an
 * empty one: an empty chunk would end the message.
 */
export function encodeChunk(payload: Buffer): Buffer[] {
  if (payload.length === 0) return [];
  const line = `${payload.length.toString(16)}\r\n`;
  const isSmall = payload.length < largeBytes;
  const copied = isSmall ? payload.length : largeBytes;
  const begin = Buffer.allocUnsafe(line.length + copied + (isSmall ? CRLF.length : 0));
  begin.write(line, 0, 'latin1');
  payload.copy(begin, line.length, 0, copied);
  if (!isSmall) return [begin, payload.subarray(copied), CRLF];
  CRLF.copy(begin, line.length + copied);
  return [begin];
}

/** The end of a chunked message. */
export function lastChunk(
  trailers: { readonly names: readonly string[]; readonly values: readonly string[] } | null,
): Buffer {
  if (trailers === null || trailers.names.length === 0) return LAST_CHUNK;
  for (const name of trailers.names) {
    if (!mayTrail(name.toLowerCase())) {
      throw new Http1Error('malformed.framing', `the field ${name.toLowerCase()} may not come after the body`);
    }
  }
  return Buffer.from(renderFields('0', 1, trailers.names, trailers.values), 'latin1');
}

/** Filled and joined for every head: pieces added to a string one by one would each be an object to collect. */
const pieces: string[] = [];

function renderFields(first: string, firstLines: number, names: readonly string[], values: readonly string[]): string {
  let count = 0;
  pieces[count++] = first;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    if (!isName(name)) refuse('a field name');
    pieces[count++] = '\r\n';
    pieces[count++] = name;
    pieces[count++] = ': ';
    pieces[count++] = values[i]!;
  }
  pieces[count++] = '\r\n\r\n';
  // Not emptied first: an array that is emptied gives its store away and grows anew.
  pieces.length = count;
  const head = pieces.join('');
  if (!hasLines(head, firstLines + names.length + 1)) refuse(culprit(names, values));
  return head;
}

/**
 * One pass over the finished head: nothing but text, tabs and exactly the line ends that were written here. A line end
 * in a value would be one too many. Faster than a test per value, and it sees what is really sent.
 */
function hasLines(head: string, lines: number): boolean {
  let ends = 0;
  for (let i = 0; i < head.length; i++) {
    const code = head.charCodeAt(i);
    if (code >= 0x20 && code < 0x7f) continue;
    if (code === 0x0d && head.charCodeAt(i + 1) === 0x0a) {
      ends++;
      i++;
    } else if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false;
  }
  return ends === lines;
}

/** Which field it was, for the message; never its value. */
function culprit(names: readonly string[], values: readonly string[]): string {
  const at = values.findIndex((value) => /[^\t\x20-\x7e\x80-\xff]/.test(value));
  return at < 0 ? 'the start line' : `the value of ${names[at]}`;
}

/** Names repeat: what was found to be a token once is remembered. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const knownNames = new Set<string>();
const maxKnownNames = 512;

function isName(name: string): boolean {
  if (knownNames.has(name)) return true;
  if (!token.test(name)) return false;
  if (knownNames.size < maxKnownNames && name.length <= 64) knownNames.add(name);
  return true;
}

function refuse(where: string): never {
  throw new Http1Error('malformed.syntax', `a character that may not be written in ${where}`);
}
