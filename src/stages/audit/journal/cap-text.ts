// Cuts texts that a sandbox can influence to a number of bytes as the journal writes them: a character can take three bytes
// of UTF-8, an escape six. The record says what was cut, with length and hash, so that it can still be compared.
import { hash } from 'node:crypto';

/** Written as it is: no character that JSON escapes, none that takes more than a byte. */
export const plainText = /^[ !#-[\]-~]*$/;

/** The most that one character (a UTF-16 unit) can become. */
const longestEscape = 6;
const ellipsis = '…';
const ellipsisBytes = 3;
/** 128 bits: who wants to compare has the whole text. */
const hashDigits = 32;

/** Cuts texts of one record, and remembers which. */
export class TextCaps {
  #cuts: string[] | null = null;

  /** The text, or its beginning and an ellipsis in at most `maxBytes` of JSON. */
  cap(name: string, text: string, maxBytes: number): string {
    if (text.length * longestEscape <= maxBytes) return text;
    if (text.length <= maxBytes && plainText.test(text)) return text;
    if (text.length <= maxBytes && jsonBytes(text) <= maxBytes) return text;
    this.#cuts ??= [];
    const digest = hash('sha256', text, 'hex').slice(0, hashDigits);
    this.#cuts.push(`${name} of ${Buffer.byteLength(text)} bytes, sha256 ${digest}`);
    return `${beginning(text, maxBytes - ellipsisBytes)}${ellipsis}`;
  }

  /** E.g. `path of 12288 bytes, sha256 9f86d081884c7d659a2feaa0c55ad015`; null: nothing was cut. */
  describe(): string | null {
    return this.#cuts === null ? null : this.#cuts.join('; ');
  }
}

/** How many bytes a text takes between its quotes. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

/** The longest beginning of whole characters that takes at most so many bytes. */
export function beginning(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  // No character is shorter than a byte: more than this cannot fit, however long the text is.
  for (const character of text.slice(0, maxBytes)) {
    bytes += plainText.test(character) ? 1 : jsonBytes(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  // A copy: a piece of a text would keep all of it in memory.
  return Buffer.from(text.slice(0, end)).toString();
}
