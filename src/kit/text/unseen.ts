// Which characters nobody sees, or that drive a terminal or turn the direction of writing around: one rule for every text that a
// sandbox has a say in. dashboard/text.js has the same for browsers, and a test holds the two to each other.

/**
 * Controls, format characters (bidi, zero width, tags), lone surrogates, private and unassigned ones, line separators, whatever
 * Unicode says may be drawn as nothing (blank letters, variation selectors), and the blank of Braille.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A word that somebody else chose, for a record or a refusal: visible ASCII, a question mark for the rest, and not long. */
export function asciiWord(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '?').slice(0, 80);
}

/** At most so many characters; what is cut ends in `…`. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** `instead` in place of each. */
export function replaceUnseen(text: string, instead: string): string {
  return text.replace(unseen, instead);
}

/** Its code in place of each: `\x1b`, `\u202e`, `\u{e0041}`. */
export function escapeUnseen(text: string): string {
  return text.replace(unseen, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    if (code.length > 4) return `\\u{${code}}`;
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}
