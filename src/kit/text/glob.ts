// Globs over names with slashes: `*` stays inside a segment, `**` crosses them, `/**/` also stands for a single `/`.
// Everything else is literal. Runs as a set of states over the name once, so no pattern can make it backtrack; exact
// and prefix patterns never get that far. One meaning for paths of requests, branches and files in a repository.

export interface Glob {
  readonly text: string;
  covers(name: string): boolean;
  /** Whether a name that begins with `beginning` could be covered: false only when none can. */
  reaches(beginning: string): boolean;
}

const slash = 0x2f;
// Tokens of the automaton: a literal character code (>= 0), or one of these.
const anyInSegment = -1;
const anyAtAll = -2;
// Two states for `/**/` after its first slash: at a segment boundary, and inside a skipped segment.
const boundary = -3;
const inside = -4;

export function compileGlob(text: string): Glob {
  const tokens = tokenize(text);
  const reaches = (beginning: string): boolean => runStates(tokens, beginning).length > 0;
  return { text, covers: matcherOf(text, tokens), reaches };
}

function matcherOf(text: string, tokens: Int32Array): Glob['covers'] {
  if (text === '/**') return (name) => name.startsWith('/');
  const star = text.indexOf('*');
  if (star < 0) return (name) => name === text;
  const prefix = text.slice(0, star);
  // `/v1/**` is everything below /v1/, not /v1 itself.
  if (star === text.length - 2 && text.endsWith('/**')) return (name) => name.startsWith(prefix);
  // What stands behind the last star is literal. Most names are told apart by their ends alone.
  const suffix = text.slice(text.lastIndexOf('*') + 1);
  return (name) => name.startsWith(prefix) && name.endsWith(suffix) && runStates(tokens, name).includes(tokens.length);
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

/** The states that are left after all of `name`; the last one is the end of the pattern. */
function runStates(tokens: Int32Array, name: string): readonly number[] {
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
  for (let i = 0; i < name.length && active.length > 0; i++) {
    const code = name.charCodeAt(i);
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
  return active;
}
