// Writes heads and chunks. Refuses whatever would be read back as something else: a line break or control byte in a
// name or value is an injected field, and so is a character above U+00FF, which Latin-1 cuts down to its low byte
// (U+010A becomes LF).
import { Http1Error } from './http1-error.ts';
import { mayTrail } from './trailer-fields.ts';

// Regular expressions, not the byte table: on strings they are three times as fast, and a string may hold more than bytes.
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const notText = /[^\t\x20-\x7e\x80-\xff]/;

const CRLF = Buffer.from('\r\n', 'latin1');
const LAST_CHUNK = Buffer.from('0\r\n\r\n', 'latin1');

/** The head with its blank line. Names and values are written in the order and case given. */
export function renderHead(startLine: string, names: readonly string[], values: readonly string[]): string {
  if (notText.test(startLine)) refuse('the start line');
  return renderFields(startLine, names, values);
}

/** Head and body in one buffer, so that a whole message is one write. */
export function encodeMessage(head: string, body: Buffer | null): Buffer {
  if (body === null || body.length === 0) return Buffer.from(head, 'latin1');
  const message = Buffer.allocUnsafe(head.length + body.length);
  message.write(head, 0, 'latin1');
  body.copy(message, head.length);
  return message;
}

/** The payload as one chunk, itself not copied. Nothing for an empty one: an empty chunk would end the message. */
export function encodeChunk(payload: Buffer): Buffer[] {
  if (payload.length === 0) return [];
  return [Buffer.from(`${payload.length.toString(16)}\r\n`, 'latin1'), payload, CRLF];
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
  return Buffer.from(renderFields('0', trailers.names, trailers.values), 'latin1');
}

function renderFields(firstLine: string, names: readonly string[], values: readonly string[]): string {
  let head = `${firstLine}\r\n`;
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    const value = values[i]!;
    if (!token.test(name)) refuse('a field name');
    if (notText.test(value)) refuse(`the value of ${name}`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

function refuse(where: string): never {
  throw new Http1Error('malformed.syntax', `a character that may not be written in ${where}`);
}
