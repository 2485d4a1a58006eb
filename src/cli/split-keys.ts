// What a terminal sends at once, taken apart into keys: characters, and the sequences that stand for arrows and the like. What was
// pasted is no key, and is told apart, so that a text on the clipboard cannot press keys.

export interface Pressed {
  readonly keys: readonly string[];
  /** Text that was pasted; empty: none. */
  readonly pasted: string;
}

const esc = '\u001b';
const pasteBegins = `${esc}[200~`;
const pasteEnds = `${esc}[201~`;
/** Hands do not press more at once; a terminal that cannot mark what is pasted sends it so. */
const mostAtOnce = 8;

export function splitKeys(chunk: string): Pressed {
  const begin = chunk.indexOf(pasteBegins);
  if (begin >= 0) {
    const end = chunk.indexOf(pasteEnds, begin);
    const pasted = chunk.slice(begin + pasteBegins.length, end < 0 ? undefined : end);
    const before = splitKeys(chunk.slice(0, begin));
    const after = splitKeys(end < 0 ? '' : chunk.slice(end + pasteEnds.length));
    return { keys: [...before.keys, ...after.keys], pasted: before.pasted + pasted + after.pasted };
  }
  const keys: string[] = [];
  for (let at = 0; at < chunk.length; ) {
    const key = chunk[at] === esc ? sequenceAt(chunk, at) : String.fromCodePoint(chunk.codePointAt(at)!);
    keys.push(key);
    at += key.length;
  }
  return keys.length > mostAtOnce ? { keys: [], pasted: chunk } : { keys, pasted: '' };
}

/** `ESC [ 1 ; 5 A`, `ESC O A`, or Esc by itself. */
function sequenceAt(chunk: string, at: number): string {
  return esc + (/^(?:\[[0-9;]*[A-Za-z~]|O[A-Z])/.exec(chunk.slice(at + 1))?.[0] ?? '');
}
