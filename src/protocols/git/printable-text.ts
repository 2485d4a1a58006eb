// Text that is shown on somebody's terminal by git: one line, nothing that moves the cursor, colours, hides or reorders
// what stands around it. Works on names that a client chose, so nothing in them can be trusted to be plain.

// C0, DEL, C1, line and paragraph separators, and the marks that change the direction of writing.
// Ranges in numbers, because the characters themselves could not be seen in a literal.
const hidden = new RegExp(
  `[${[
    [0x00, 0x1f],
    [0x7f, 0x9f],
    [0x061c, 0x061c],
    [0x200b, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x2069],
    [0xfeff, 0xfeff],
  ]
    .map(([from, to]) => `${unit(from!)}-${unit(to!)}`)
    .join('')}]`,
  'g',
);

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Tabs become spaces, everything else that does not print goes; half a surrogate pair becomes U+FFFD. */
export function printableText(text: string): string {
  return Buffer.from(text.replaceAll('\t', ' ').replace(hidden, ''), 'utf8').toString('utf8');
}

/** As many whole characters from the start of `text` as fit in `maxBytes` of UTF-8. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  return bytes.subarray(0, characterEnd(bytes, maxBytes)).toString('utf8');
}

/** The last place at or before `at` where one character ends and the next begins. */
export function characterEnd(bytes: Buffer, at: number): number {
  let end = Math.min(at, bytes.length);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return end;
}
