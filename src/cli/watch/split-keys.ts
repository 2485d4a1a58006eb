// What a terminal sends at once, taken apart into keys: characters, and the sequences that stand for arrows and the like. What was
// pasted is no key, and is told apart, so that a text on the clipboard cannot press keys. A long paste comes in several reads, so
// what is open at the end of one is handed on to the next.

/** What one read leaves for the next. */
export interface Unfinished {
  /** The end of a paste has not come yet. */
  readonly isPasting: boolean;
  /** What may be the beginning of a mark. */
  readonly cut: string;
}

export interface Pressed {
  readonly keys: readonly string[];
  /** Text that was pasted; empty: none. */
  readonly pasted: string;
  readonly unfinished: Unfinished;
}

export const nothingUnfinished: Unfinished = { isPasting: false, cut: '' };

const esc = '\u001b';
const ctrlC = '\u0003';
const pasteBegins = `${esc}[200~`;
const pasteEnds = `${esc}[201~`;
/** Hands do not press more at once; a terminal that cannot mark what is pasted sends it so. */
const mostAtOnce = 8;

export function splitKeys(chunk: string, before: Unfinished): Pressed {
  // Whoever waits for the end of a paste in vain can still leave.
  if (chunk === ctrlC) return { keys: [ctrlC], pasted: '', unfinished: nothingUnfinished };
  const keys: string[] = [];
  let pasted = '';
  let { isPasting } = before;
  let left = before.cut + chunk;
  // Esc by itself was given out as a key when it came.
  let isGiven = !isPasting && before.cut === esc;
  for (;;) {
    const mark = isPasting ? pasteEnds : pasteBegins;
    const at = left.indexOf(mark);
    const cut = at < 0 ? beginningAtEnd(left, mark) : '';
    const part = left.slice(0, at < 0 ? left.length - cut.length : at);
    const pressed = isPasting ? null : keysIn(part);
    if (isGiven && pressed?.[0] === esc) pressed.shift();
    if (pressed === null || pressed.length > mostAtOnce) pasted += part;
    else keys.push(...pressed);
    if (at < 0) {
      // The key of that name is not to wait for what may follow.
      if (!isPasting && cut === esc) keys.push(esc);
      return { keys, pasted, unfinished: { isPasting, cut } };
    }
    left = left.slice(at + mark.length);
    isPasting = !isPasting;
    isGiven = false;
  }
}

/** The longest beginning of the mark with which the text ends. */
function beginningAtEnd(text: string, mark: string): string {
  for (let length = mark.length - 1; length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return mark.slice(0, length);
  }
  return '';
}

function keysIn(text: string): string[] {
  const keys: string[] = [];
  for (let at = 0; at < text.length; ) {
    const key = text[at] === esc ? sequenceAt(text, at) : String.fromCodePoint(text.codePointAt(at)!);
    keys.push(key);
    at += key.length;
  }
  return keys;
}

/** `ESC [ 1 ; 5 A`, `ESC O A`, or Esc by itself. */
function sequenceAt(chunk: string, at: number): string {
  return esc + (/^(?:\[[0-9;]*[A-Za-z~]|O[A-Z])/.exec(chunk.slice(at + 1))?.[0] ?? '');
}
