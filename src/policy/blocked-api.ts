// `policy.blocked_api_patterns`: regular expressions from the document, run by a linear-time engine (RE2) on the
// canonical path, because a JS regex from a file is a way to stop the gateway. Never decides which host it applies to.
import { RE2JS } from 're2js';
import type { BlockedApiPattern } from './compiled.ts';
import type { Parsed } from './schema/parsed.ts';

const maxLength = 1024;

/** The plan's three, in force when the document has no block of its own. */
export const defaultBlockedApiPatterns: Readonly<Record<string, string[]>> = {
  PUT: ['^/repos/[^/]+/[^/]+/pulls/\\d+/merge$'],
  POST: ['^/repos/[^/]+/[^/]+/releases$'],
  DELETE: ['^/repos/[^/]+/[^/]+$'],
};

export function parseBlockedApiPattern(text: string, rule: string): Parsed<BlockedApiPattern> {
  if (text === '') return { problem: 'an empty pattern would block every path: write one such as "^/repos/"' };
  if (text.length > maxLength) return { problem: `a pattern has at most ${maxLength} characters` };
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(text);
  } catch (error) {
    const detail = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : '';
    return { problem: `not a regular expression of the RE2 kind (no look-around, no back-references): ${detail}` };
  }
  // The engine costs about a microsecond and this runs on every request: most are told apart by their first letters.
  const prefix = literalPrefix(text);
  const matches = (path: string): boolean => {
    if (!path.startsWith(prefix)) return false;
    if (expression.test(path)) return true;
    // Servers ignore a trailing slash that `$` would not: `DELETE /repos/o/r/` must not dodge `/repos/o/r`.
    return path.length > 1 && path.endsWith('/') && expression.test(path.slice(0, -1));
  };
  return { value: { rule, text, matches } };
}

/** Literal text that every match must begin with; empty when that cannot be said for sure. */
export function literalPrefix(text: string): string {
  // An alternative anywhere may begin differently; a flag such as (?i) or (?m) changes what the letters mean.
  if (!text.startsWith('^') || text.includes('|') || text.includes('(?')) return '';
  const literal = /^[A-Za-z0-9/_-]*/.exec(text.slice(1))![0];
  const following = text[1 + literal.length];
  // A quantifier belongs to the last letter alone, which may then be absent.
  return following !== undefined && '?*+{'.includes(following) ? literal.slice(0, -1) : literal;
}
