// What scrubbing must come to, found the slow way: every spelling of every character is written out, and every place of the
// text is compared with all of them. Shares nothing with the search; text is latin1, one character for each byte.

export interface Truth {
  /** The whole text, with `*` for each byte that is covered. */
  readonly masked: string;
  /** How many bytes from the beginning could be told if more text were to come. */
  readonly settled: number;
}

interface Written {
  readonly text: string;
  readonly eitherCase: boolean;
  readonly wrapped: boolean;
}

const lineEnds = ['\n', '\r\n', '\\n', '\\r\\n'];
const names: Record<string, string> = { '&': '&amp;', "'": '&apos;', '>': '&gt;', '<': '&lt;', '"': '&quot;' };

export function truthOf(values: readonly string[], text: string): Truth {
  const forms = values.flatMap((value) => writtenForms(Buffer.from(value, 'utf8')));
  const covered = new Uint8Array(text.length);
  let open = text.length;
  for (let start = 0; start < text.length; start++) {
    for (const form of forms) {
      const { end, unfinished } = readForm(form, text, start);
      covered.fill(1, start, Math.max(start, end));
      if (unfinished) open = Math.min(open, start);
    }
  }
  let settled = open;
  while (settled < text.length && covered[settled] === 1) settled++;
  return { masked: [...text].map((char, i) => (covered[i] === 1 ? '*' : char)).join(''), settled };
}

/** Every form of a value, for generators too. */
export function writtenForms(value: Buffer): Written[] {
  const raw = value.toString('latin1');
  const forms: Written[] = [{ text: raw, eitherCase: false, wrapped: false }];
  forms.push({ text: raw.replaceAll(' ', '+'), eitherCase: false, wrapped: false });
  const wide = [...value.toString('utf8')].flatMap((char) => {
    const code = char.codePointAt(0)!;
    return [code >> 8, code & 0xff];
  });
  const isAscii = wide.every((byte, i) => i % 2 === 1 || byte === 0) && value.every((byte) => byte < 0x80);
  const big = String.fromCharCode(...wide);
  const little = String.fromCharCode(...wide.flatMap((_, i) => (i % 2 === 0 ? [wide[i + 1]!, wide[i]!] : [])));
  for (const form of isAscii ? [big.slice(1)] : [big, little]) {
    forms.push({ text: form, eitherCase: false, wrapped: false });
  }
  for (const offset of [0, 1, 2]) {
    // Bits that neighbours decide are left out: six to a character.
    const bits = `${'0'.repeat(8 * offset)}${[...value].map((byte) => byte.toString(2).padStart(8, '0')).join('')}`;
    let standard = '';
    for (let at = 0; at + 6 <= bits.length; at += 6) {
      if (at >= 8 * offset) standard += base64Letters[Number.parseInt(bits.slice(at, at + 6), 2)];
    }
    forms.push({ text: standard, eitherCase: false, wrapped: true });
    forms.push({ text: standard.replaceAll('+', '-').replaceAll('/', '_'), eitherCase: false, wrapped: true });
  }
  forms.push({ text: value.toString('hex'), eitherCase: true, wrapped: true });
  return forms.filter(({ text }) => text.length >= 6);
}

const base64Letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** All that may be written for one character. */
export function spellings(char: string): string[] {
  const code = char.charCodeAt(0);
  const hex = code.toString(16);
  const all = new Set([char]);
  for (const spelled of cases(hex.padStart(2, '0'))) {
    all.add(`%${spelled}`);
    all.add(`\\u00${spelled}`);
  }
  if ('/"\\'.includes(char)) all.add(`\\${char}`);
  if (names[char] !== undefined) all.add(names[char]);
  for (let digits = 1; digits <= 4; digits++) {
    if (digits >= String(code).length) all.add(`&#${String(code).padStart(digits, '0')};`);
    if (digits < hex.length) continue;
    for (const spelled of cases(hex.padStart(digits, '0'))) for (const x of 'xX') all.add(`&#${x}${spelled};`);
  }
  return [...all];
}

function cases(hex: string): string[] {
  return [...hex].reduce(
    (made, digit) => made.flatMap((text) => [...new Set([text + digit, text + digit.toUpperCase()])]),
    [''],
  );
}

const known = new Map<string, string[]>();

function spellingsIn(form: Written, at: number): string[] {
  const char = form.text[at]!;
  const key = `${form.eitherCase}${char}`;
  let all = known.get(key);
  if (all === undefined) {
    all = spellings(char);
    if (form.eitherCase) all = [...new Set([...all, ...spellings(char.toUpperCase())])];
    known.set(key, all);
  }
  return all;
}

/** The farthest end of this form at this place, or -1. All ways to read the text are followed at once. */
function readForm(form: Written, text: string, start: number): { end: number; unfinished: boolean } {
  let places = new Set([start]);
  let unfinished = false;
  const isCut = (spelling: string, at: number): boolean =>
    text.length - at < spelling.length && spelling.startsWith(text.slice(at));
  for (let i = 0; i < form.text.length; i++) {
    const next = new Set<number>();
    for (const place of places) {
      const from = [place];
      if (form.wrapped && i > 0) {
        for (const line of lineEnds) {
          if (text.startsWith(line, place)) from.push(place + line.length);
          else if (place < text.length && isCut(line, place)) unfinished = true;
        }
      }
      for (const at of from) {
        if (at >= text.length) {
          unfinished = true;
          continue;
        }
        for (const spelling of spellingsIn(form, i)) {
          if (text.startsWith(spelling, at)) next.add(at + spelling.length);
          else if (isCut(spelling, at)) unfinished = true;
        }
      }
    }
    places = next;
    if (places.size === 0) return { end: -1, unfinished };
  }
  return { end: Math.max(...places.keys()), unfinished };
}
