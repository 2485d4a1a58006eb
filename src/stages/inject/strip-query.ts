// Removes parameters from a raw query by name and leaves every other byte as it was. Reads names the way servers
// do (decoded once, `+` as space, `&` and `;` both as separators), because a name that only we read differently
// would carry a credential past us. Never re-encodes.

/** The query without the named parameters; null when nothing is left of it. */
export function withoutParameters(query: string, names: ReadonlySet<string>): string | null {
  if (names.size === 0) return query;
  let removed = false;
  const kept: string[] = [];
  for (const part of query.split('&')) {
    // Two readings: with `;` as an ordinary byte the whole part is one parameter; else it is several.
    if (names.has(nameIn(part))) removed = true;
    else if (!part.includes(';')) kept.push(part);
    else {
      const pieces = part.split(';');
      const left = pieces.filter((piece) => !names.has(nameIn(piece)));
      if (left.length < pieces.length) removed = true;
      if (left.length > 0) kept.push(left.join(';'));
    }
  }
  if (!removed) return query;
  return kept.length === 0 ? null : kept.join('&');
}

function nameIn(part: string): string {
  const end = part.indexOf('=');
  const raw = end < 0 ? part : part.slice(0, end);
  // Some parsers drop leading question marks and blanks; a name is compared without them.
  if (!/[%+?]/.test(raw)) return raw;
  return decodeOnce(raw).trim().replace(/^\?+/, '');
}

/** Percent-decoding that never fails: what is not an escape stays as it is, what is not UTF-8 matches no name. */
function decodeOnce(raw: string): string {
  const bytes = raw
    .replaceAll('+', ' ')
    .replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
