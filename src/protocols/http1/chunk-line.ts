// The line before each chunk: its size in hexadecimal and its extensions (RFC 9112 section 7.1), read byte by byte
// so that it may be cut anywhere. Extensions carry nothing for us but are where parsers disagree: they must be
// well formed, without the optional white space of the grammar, and small.
import { CR, hexValue, LF, quotedBytes, textBytes, tokenBytes } from './byte-class.ts';
import { refuseFraming } from './framing.ts';

const MAX_SIZE_DIGITS = 14;
const MAX_LINE_BYTES = 256;
/** Extensions of all chunks together: without it, tiny chunks with long lines are traffic that counts as nothing. */
const MAX_EXTENSION_BYTES = 16 * 1024;

const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const SIZE = 0;
const NAME_START = 1;
const NAME = 2;
const VALUE_START = 3;
const VALUE = 4;
const IN_QUOTES = 5;
const ESCAPED = 6;
const AFTER_QUOTES = 7;
const LINE_FEED = 8;

export class ChunkLine {
  #state = SIZE;
  #size = 0;
  #digits = 0;
  #lineBytes = 0;
  #extensionBytes = 0;

  /** The size of the chunk once the line is complete, and the next byte begins another line; -1 until then. */
  feed(byte: number): number {
    if (++this.#lineBytes > MAX_LINE_BYTES) refuseFraming(`a chunk size line longer than ${MAX_LINE_BYTES} bytes`);
    if (this.#state === SIZE) {
      const digit = hexValue(byte);
      if (digit >= 0) this.#addDigit(digit);
      else if (this.#digits === 0) refuseFraming('a chunk size that does not begin with a hexadecimal digit');
      else this.#endPart(byte, 'a chunk size followed by something other than an extension or CRLF');
      return -1;
    }
    if (this.#state !== LINE_FEED) {
      this.#feedExtension(byte);
      return -1;
    }
    if (byte !== LF) refuseFraming('a CR without LF after it in a chunk size line');
    const size = this.#size;
    this.#state = SIZE;
    this.#size = 0;
    this.#digits = 0;
    this.#lineBytes = 0;
    return size;
  }

  #addDigit(digit: number): void {
    if (++this.#digits > MAX_SIZE_DIGITS) refuseFraming(`a chunk size of more than ${MAX_SIZE_DIGITS} digits`);
    this.#size = this.#size * 16 + digit;
    if (this.#size > Number.MAX_SAFE_INTEGER) refuseFraming('a chunk size larger than 2^53-1');
  }

  #feedExtension(byte: number): void {
    if (++this.#extensionBytes > MAX_EXTENSION_BYTES) {
      refuseFraming(`more than ${MAX_EXTENSION_BYTES} bytes of chunk extensions in one message`);
    }
    const isToken = tokenBytes[byte] === 1;
    switch (this.#state) {
      case NAME_START:
        if (!isToken) refuseFraming('a chunk extension without a name');
        this.#state = NAME;
        return;
      case NAME:
        if (isToken) return;
        if (byte === EQUALS) this.#state = VALUE_START;
        else this.#endPart(byte, 'a chunk extension name with a byte that is not allowed there');
        return;
      case VALUE_START:
        if (byte === QUOTE) this.#state = IN_QUOTES;
        else if (isToken) this.#state = VALUE;
        else refuseFraming('a chunk extension without the value it announces');
        return;
      case VALUE:
        if (!isToken) this.#endPart(byte, 'a chunk extension value with a byte that is not allowed there');
        return;
      case IN_QUOTES:
        if (byte === QUOTE) this.#state = AFTER_QUOTES;
        else if (byte === BACKSLASH) this.#state = ESCAPED;
        else if (quotedBytes[byte] === 0) refuseFraming('a control byte in a quoted chunk extension');
        return;
      case ESCAPED:
        if (textBytes[byte] === 0) refuseFraming('a control byte in a quoted chunk extension');
        this.#state = IN_QUOTES;
        return;
      default:
        this.#endPart(byte, 'a quoted chunk extension followed by something other than an extension or CRLF');
    }
  }

  #endPart(byte: number, otherwise: string): void {
    if (byte === CR) this.#state = LINE_FEED;
    else if (byte === SEMICOLON) this.#state = NAME_START;
    else refuseFraming(byte === LF ? 'a bare LF ends a chunk size line; lines end in CRLF' : otherwise);
  }
}
