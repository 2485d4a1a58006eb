// The Public Suffix List, with its private part: under which names anybody can register one. The list itself and not only an
// answer for a host: a wildcard also reaches every suffix below it, and only the list knows those. Read when somebody asks.
import { readFileSync } from 'node:fs';
import { domainToASCII } from 'node:url';
import { inPackage } from '../../kit/files/package-root.ts';

export interface PublicSuffixes {
  /** As they stand in the list, e.g. `co.uk` or `*.ck`; true: of its private part. */
  readonly rules: ReadonlyMap<string, boolean>;
  /** What a rule with a star leaves out, e.g. `www.ck`. */
  readonly exceptions: ReadonlySet<string>;
  /** The names that have a suffix somewhere below them. */
  readonly above: ReadonlySet<string>;
}

let list: PublicSuffixes | null = null;

export function publicSuffixes(): PublicSuffixes {
  list ??= readList(readFileSync(inPackage('config', 'public_suffix_list.dat'), 'utf8'));
  return list;
}

/** The suffix that a name ends in, by the longest rule; where none is known, its last label. */
export function suffixOf(name: string): { readonly suffix: string; readonly isPrivate: boolean } {
  const { rules, exceptions } = publicSuffixes();
  for (const tail of tailsOf(name)) if (exceptions.has(tail)) return { suffix: parentOf(tail), isPrivate: false };
  for (const tail of tailsOf(name)) {
    const kind = rules.get(tail) ?? rules.get(`*.${parentOf(tail)}`);
    if (kind !== undefined) return { suffix: tail, isPrivate: kind };
  }
  return { suffix: name.slice(name.lastIndexOf('.') + 1), isPrivate: false };
}

/** What somebody has registered: one label more than the suffix. Null: the name is a suffix itself. */
export function registrableDomain(name: string): string | null {
  const { suffix } = suffixOf(name);
  if (suffix.length === name.length) return null;
  const before = name.slice(0, -suffix.length - 1);
  return `${before.slice(before.lastIndexOf('.') + 1)}.${suffix}`;
}

/** As publicsuffix.org writes it: a rule to a line, up to its first space; `!` before what a star leaves out. */
export function readList(text: string): PublicSuffixes {
  const rules = new Map<string, boolean>();
  const above = new Set<string>();
  const exceptions = new Set<string>();
  let isPrivate = false;
  for (const line of text.split('\n')) {
    if (line.includes('===BEGIN PRIVATE DOMAINS===')) isPrivate = true;
    const rule = line.split(/\s/, 1)[0]!;
    if (rule === '' || rule.startsWith('//')) continue;
    if (rule.startsWith('!')) {
      exceptions.add(inAscii(rule.slice(1)));
      continue;
    }
    const name = inAscii(rule);
    rules.set(name, isPrivate);
    for (const tail of tailsOf(parentOf(name))) above.add(tail);
  }
  if (rules.size === 0) throw new Error('the package is not complete: its Public Suffix List is empty');
  return { rules, above, exceptions };
}

/** As hosts are compared. A star is no name by itself. */
function inAscii(rule: string): string {
  return rule.startsWith('*.') ? `*.${inAscii(rule.slice(2))}` : domainToASCII(rule);
}

/** `a.b.c`, `b.c`, `c`. */
function tailsOf(name: string): string[] {
  const tails: string[] = [];
  for (let tail = name; tail !== ''; tail = parentOf(tail)) tails.push(tail);
  return tails;
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}
