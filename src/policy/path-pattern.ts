// Path globs: `*` stays inside a segment, `**` crosses them, `/**/` also stands for a single `/`. Everything else is
// literal. Runs as a set of states over the path once, so no pattern can make it backtrack; exact and prefix
// patterns never get that far. Matched against the canonical (decoded) path.
import type { PathPattern } from './compiled.ts';
import type { Parsed } from './parsed.ts';

const slash = 0x2f;
// Tokens of the automaton: a literal character code (>= 0), or one of these.
const anyInSegment = -1;
const anyAtAll = -2;
// Two states for `/**/` after its first slash: at a segment boundary, and inside a skipped segment.
const boundary = -3;
const inside = -4;

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
  return { value: compilePathPattern(text) };
}

/** Takes a pattern that `parsePathPattern` accepts. */
export function compilePathPattern(text: string): PathPattern {
  if (text === '/**') return { text, covers: () => true };
  const star = text.indexOf('*');
  if (star < 0) return { text, covers: (path) => path === text };
  if (star === text.length - 2 && text.endsWith('/**')) {
    // `/v1/**` is everything below /v1/, not /v1 itself.
    const prefix = text.slice(0, -2);
    return { text, covers: (path) => path.startsWith(prefix) };
  }
  const prefix = text.slice(0, star);
  const tokens = tokenize(text);
  return { text, covers: (path) => path.startsWith(prefix) && runStates(tokens, path) };
}

function tokenize(text: string): Int32Array {
  const tokens: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '*') {
      tokens.push(text.charCodeAt(i));
    } else if (text[i + 1] !== '*') {
      tokens.push(anyInSegment);
    } else if (text[i - 1] === '/' && text[i + 2] === '/') {
      tokens.push(boundary, inside);
      i += 2;
    } else {
      tokens.push(anyAtAll);
      i += 1;
    }
  }
  return Int32Array.from(tokens);
}

function runStates(tokens: Int32Array, path: string): boolean {
  const end = tokens.length;
  // `seen[s]` is the last step at which state s was entered, so a state is listed once per step.
  const seen = new Int32Array(end + 1).fill(-1);
  let active: number[] = [];
  let next: number[] = [];
  const enter = (state: number, step: number, into: number[]): void => {
    // States that may match nothing are passed through at once.
    for (let s = state; seen[s] !== step; ) {
      seen[s] = step;
      into.push(s);
      const token = s < end ? tokens[s]! : 0;
      if (s === end) return;
      if (token === anyInSegment || token === anyAtAll) s += 1;
      else if (token === boundary) s += 2;
      else return;
    }
  };
  enter(0, 0, active);
  for (let i = 0; i < path.length && active.length > 0; i++) {
    const code = path.charCodeAt(i);
    const step = i + 1;
    next = [];
    for (const state of active) {
      if (state === end) continue;
      const token = tokens[state]!;
      if (token >= 0) {
        if (token === code) enter(state + 1, step, next);
      } else if (token === anyAtAll) {
        enter(state, step, next);
      } else if (token === anyInSegment) {
        if (code !== slash) enter(state, step, next);
      } else if (token === boundary) {
        enter(code === slash ? state : state + 1, step, next);
      } else {
        enter(code === slash ? state - 1 : state, step, next);
      }
    }
    active = next;
  }
  return active.includes(end);
}
