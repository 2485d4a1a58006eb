// Adds entries to `allow` of a sallyport.yaml as a careful person would: lines put in at their place, every other byte as it
// was. What was written is read again, and must say what was said before and the new entries, nothing else: a file that is
// too clever for that is left alone.
import { isDeepStrictEqual } from 'node:util';
import { type CST, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument } from 'yaml';
import { readDocument } from '../schema/document.ts';
import { type AllowEntry, entryLine, entryValue, inlineEntry } from './allow-entry.ts';

/** It must be done by hand; the message says why. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

export interface EditedText {
  readonly text: string;
  /** Where the first new or changed line stands, from 1. */
  readonly line: number;
  /** The new lines as they stand in the file; of a list within a line, that line as it is now. */
  readonly added: string;
}

export interface EditPlace {
  /** The index of the entry of `allow` before which they go; left out: after the last. */
  readonly before?: number;
}

interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
  /** How many characters of `insert` only end the line before it. */
  readonly lead: number;
}

/** Throws a CannotEdit. */
export function addAllowEntries(text: string, entries: readonly AllowEntry[], place: EditPlace = {}): EditedText {
  const { at, remove, insert, lead } = spliceFor(text, entries, place);
  const edited = `${text.slice(0, at)}${insert}${text.slice(at + remove)}`;
  checkSaysTheSame(text, edited, entries, place);
  const start = edited.lastIndexOf('\n', at + lead - 1) + 1;
  const end = lineEnd(edited, Math.max(start, at + insert.trimEnd().length - 1));
  const line = edited.slice(0, start).split('\n').length;
  return { text: edited, line, added: edited.slice(start, end).replaceAll('\r', '') };
}

function spliceFor(text: string, entries: readonly AllowEntry[], { before }: EditPlace): Splice {
  const newline = /\r\n/.test(text) ? '\r\n' : '\n';
  const pair = findAllow(text);
  if (pair === null) return appendSection(text, entries, newline);
  const { value } = pair;
  if (isAlias(value)) throw byHand('`allow` is an alias of another part of it');
  const key = offsetOf(pair);
  if (isSeq(value) && value.items.length > 0) {
    const token = value.srcToken;
    const index = Math.min(before ?? value.items.length, value.items.length);
    if (token?.type === 'block-seq') return intoBlock(text, token, entries, index, newline);
    if (token?.type === 'flow-collection') return intoFlow(token, entries, index);
    throw byHand('`allow` is written in a form that is not known here');
  }
  const isNothing = value === null || (isScalar(value) && value.value === null);
  if (!isNothing && !isSeq(value)) throw byHand('`allow` is not a list');
  // `allow:`, `allow: []`, `allow: null`: lines below it, in place of what says that there is nothing.
  const [from, to] = value?.range ?? [key, key];
  const empty = text.slice(from, to);
  if (empty !== '' && !/^(?:\[ *\]|~|null)$/i.test(empty)) throw byHand('the empty `allow` holds something else');
  const end = lineEnd(text, empty === '' ? key : to);
  const kept = empty === '' ? text.slice(key, end) : `${text.slice(key, from).trimEnd()}${text.slice(to, end)}`;
  const indent = `${text.slice(text.lastIndexOf('\n', key - 1) + 1, key)}  `;
  if (indent.trim() !== '') throw byHand('`allow` does not begin a line');
  const lines = entries.map((entry) => `${newline}${indent}${entryLine(entry)}`).join('');
  return { at: key, remove: end - key, insert: `${kept}${lines}`, lead: kept.length + newline.length };
}

function findAllow(text: string): Pair<unknown, { range?: readonly number[] | null } | null> | null {
  const document = parseDocument(text, { keepSourceTokens: true, lineCounter: new LineCounter(), version: '1.2' });
  if (document.errors.length > 0) throw byHand('it is not valid YAML');
  if (!isMap(document.contents)) throw byHand('it is not a map of sections');
  const pair = document.contents.items.find(({ key }) => isScalar(key) && key.value === 'allow');
  if (pair !== undefined) return pair as ReturnType<typeof findAllow>;
  if (document.contents.flow === true) throw byHand('it is written as one map in braces');
  return null;
}

function offsetOf(pair: Pair): number {
  if (!isScalar(pair.key) || !pair.key.range) throw byHand('`allow` was not found in its text');
  return pair.key.range[0];
}

function intoBlock(
  text: string,
  { items }: CST.BlockSequence,
  entries: readonly AllowEntry[],
  index: number,
  newline: string,
): Splice {
  // What has no dash is a comment behind the last of them.
  const found = items.flatMap(({ start, value }) => {
    const dash = start.find(({ type }) => type === 'seq-item-ind')?.offset;
    return dash === undefined ? [] : [{ dash, start: text.lastIndexOf('\n', dash - 1) + 1, value }];
  });
  const near = found[Math.min(index, found.length - 1)];
  if (near === undefined) throw byHand('the entries of `allow` were not found in their text');
  const { dash, start } = near;
  const indent = text.slice(start, dash);
  if (indent.trim() !== '') throw byHand('an entry of `allow` does not begin a line');
  const lines = entries.map((entry) => `${indent}${entryLine(entry)}`);
  if (index < found.length) {
    const at = aboveComments(text, start);
    return { at, remove: 0, insert: `${lines.join(newline)}${newline}`, lead: 0 };
  }
  const at = belowComments(text, endOfToken(text, near.value, dash), indent.length);
  return { at, remove: 0, insert: lines.map((line) => `${newline}${line}`).join(''), lead: newline.length };
}

/** Comments right above an entry are about it. */
function aboveComments(text: string, start: number): number {
  let at = start;
  while (at > 0) {
    const above = text.lastIndexOf('\n', at - 2) + 1;
    if (!/^[ \t]*#/.test(text.slice(above, at))) return at;
    at = above;
  }
  return at;
}

/** Comments below an entry that stand deeper than its dash are about it. Returns the end of a line. */
function belowComments(text: string, from: number, indent: number): number {
  let end = lineEnd(text, from);
  for (;;) {
    const next = text.indexOf('\n', end) + 1;
    if (next === 0) return end;
    const line = text.slice(next, lineEnd(text, next));
    if (!/^ *#/.test(line) || line.indexOf('#') <= indent) return end;
    end = next + line.length;
  }
}

/** The last character of an entry that is no white space. */
function endOfToken(text: string, token: CST.Token | null | undefined, dash: number): number {
  if (token === null || token === undefined) return dash;
  let end = dash;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, offset, source } = value as { type?: unknown; offset?: unknown; source?: unknown };
    const says = type !== 'comment' && type !== 'newline' && type !== 'space';
    if (says && typeof offset === 'number' && typeof source === 'string') {
      end = Math.max(end, offset + source.trimEnd().length - 1);
    }
    Object.values(value).forEach(visit);
  };
  visit(token);
  return Math.min(end, text.length);
}

/** Within brackets nothing is said about an entry: a comment would take the rest of the line with it. */
function intoFlow(token: CST.FlowCollection, entries: readonly AllowEntry[], index: number): Splice {
  const list = entries.map(inlineEntry).join(', ');
  const values = token.items.map(({ value }) => value).filter((value) => value !== undefined && value !== null);
  const next = token.items[index];
  if (next?.value) {
    const { start } = next;
    const first = start.find(({ type }) => type === 'anchor' || type === 'tag');
    return { at: first?.offset ?? next.value.offset, remove: 0, insert: `${list}, `, lead: 0 };
  }
  const last = values.at(-1);
  if (last === undefined) throw byHand('the entries of `allow` were not found in their text');
  return { at: endOfFlowValue(last), remove: 0, insert: `, ${list}`, lead: 0 };
}

function endOfFlowValue(token: CST.Token): number {
  if (token.type === 'flow-collection') {
    const end = token.end.find(({ type }) => type === 'flow-map-end' || type === 'flow-seq-end');
    if (end !== undefined) return end.offset + end.source.length;
  }
  if ('source' in token) return token.offset + token.source.length;
  throw byHand('an entry of `allow` was not found in its text');
}

function appendSection(text: string, entries: readonly AllowEntry[], newline: string): Splice {
  const lead = text === '' || text.endsWith('\n') ? '' : newline;
  const lines = ['allow:', ...entries.map((entry) => `  ${entryLine(entry)}`)].join(newline);
  return { at: text.length, remove: 0, insert: `${lead}${lines}${newline}`, lead: lead.length };
}

function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  if (newline < 0) return text.length;
  return text[newline - 1] === '\r' && newline > from ? newline - 1 : newline;
}

/** An anchor, an alias, a document mark: whatever it is that makes a line mean more than it says, it shows here. */
function checkSaysTheSame(before: string, after: string, entries: readonly AllowEntry[], place: EditPlace): void {
  const old = sectionsOf(before);
  const now = sectionsOf(after);
  const had: readonly unknown[] = Array.isArray(old.allow) ? old.allow : [];
  const index = Math.min(place.before ?? had.length, had.length);
  const expected = { ...old, allow: [...had.slice(0, index), ...entries.map(entryValue), ...had.slice(index)] };
  if (!isDeepStrictEqual(now, expected)) throw byHand('a line added there would change more than it says');
}

function sectionsOf(text: string): Record<string, unknown> {
  const read = readDocument(text, '');
  const value = read.ok ? read.document.value : null;
  if (typeof value !== 'object' || value === null) throw byHand('it could not be read again');
  return { ...value };
}

function byHand(why: string): CannotEdit {
  return new CannotEdit(`the configuration is not edited: ${why}`, 'Add the lines yourself.');
}
