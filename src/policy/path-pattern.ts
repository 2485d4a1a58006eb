// Path globs (kit/glob.ts), with words for every way to write one that would never match. Matched against the canonical
// (decoded) path.
import { compileGlob } from '../kit/text/glob.ts';
import type { PathPattern } from './compiled.ts';
import type { Parsed } from './schema/parsed.ts';

const maxLength = 1024;

export function parsePathPattern(text: string): Parsed<PathPattern> {
  if (!text.startsWith('/')) {
    const scheme = /^https?:/i.test(text) ? ', without scheme and host' : '';
    return { problem: `a path pattern begins with /: write one such as \`/v1/**\`${scheme}` };
  }
  if (text.length > maxLength) return { problem: `a path pattern has at most ${maxLength} characters` };
  if (text.includes('?')) return { problem: 'patterns see the path only: leave out the query and `?`' };
  if (text.includes('#')) return { problem: 'patterns see the path only: leave out the fragment and `#`' };
  if (text.includes('%')) return { problem: 'patterns see the decoded path: write the character, not its %-code' };
  if (/[[\]{}\\]/.test(text)) {
    return {
      problem: 'only `*` (within a segment) and `**` (across segments) are special: write one pattern per path',
    };
  }
  if (text.includes('***')) return { problem: 'write `**` to cross segments, `*` to stay within one' };
  if (/\p{Cc}/u.test(text)) return { problem: 'a path pattern holds no control characters' };
  if (text.includes('//')) return { problem: 'a path with an empty segment (//) never arrives: write a single /' };
  if (/(?:^|\/)\.{1,2}(?:\/|$)/.test(text)) return { problem: 'a path with . or .. never arrives: write it resolved' };
  return { value: compileGlob(text) };
}
