// Reads the few `key = value` lines that name a package source out of an ini- or TOML-like file. Not a parser for
// either: what it does not understand it leaves out, so a strange file allows less, never more.

export interface ConfigLine {
  /** The last `[section]` or `[[section]]` seen; empty before the first. */
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

export function configLines(text: string): ConfigLine[] {
  const lines: ConfigLine[] = [];
  let section = '';
  let lastKey: string | null = null;
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const header = /^\[{1,2}([^\]]*)\]{1,2}\s*(?:#.*)?$/.exec(line);
    if (header) {
      section = header[1]!.trim();
      lastKey = null;
      continue;
    }
    const pair = /^((?:"[^"]*"|'[^']*'|[^=\s"'])+)\s*=\s*(.*)$/.exec(line);
    // pip lists several indexes on indented lines below the key; a URL may itself hold an equals sign.
    if (/^\s/.test(raw) && lastKey !== null && (!pair || /^[a-z+]+:\/\//i.test(line))) {
      lines.push({ section, key: lastKey, value: unquote(line) });
      continue;
    }
    if (!pair) continue;
    lastKey = unquote(pair[1]!);
    lines.push({ section, key: lastKey, value: unquote(pair[2]!) });
  }
  return lines;
}

/** `"a" # note` and `'a'` are a; a bare value stays as it is. */
export function unquote(text: string): string {
  const quoted = /^(["'])(.*?)\1\s*(?:[#;].*)?$/.exec(text.trim());
  return quoted ? quoted[2]! : text.trim();
}
