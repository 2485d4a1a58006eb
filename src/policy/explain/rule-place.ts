// From the name of a rule, as a decision gives it, to its line in the configuration in force. Null for what is built in and
// for keys that nobody wrote: their line would be a guess. Reads the text the policy was made from, never the file.
import { maskText } from '../../kit/mask-text.ts';
import { shortened } from '../../kit/text/unseen.ts';
import type { CompiledPolicy } from '../compiled.ts';
import { type PolicySource, sourceOf } from '../load/policy-source.ts';
import { readDocument, type YamlDocument } from '../schema/document.ts';

export interface PlaceOfRule {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The line itself, without the spaces around it. */
  readonly text: string;
}

interface Places {
  readonly source: PolicySource;
  readonly document: YamlDocument | null;
  readonly lines: readonly string[];
  readonly found: Map<string, PlaceOfRule | null>;
}

const maxLine = 300;
/** Names come from decisions, and there are as many as rules; a bound all the same. */
const maxRemembered = 2_000;
const known = new WeakMap<CompiledPolicy, Places>();

export function placeOfRule(policy: CompiledPolicy, rule: string): PlaceOfRule | null {
  const places = placesOf(policy);
  if (places === null) return null;
  const before = places.found.get(rule);
  if (before !== undefined) return before;
  const place = find(places, rule);
  if (places.found.size < maxRemembered) places.found.set(rule, place);
  return place;
}

/** Parsed when somebody asks for the first time: a gateway without a page never does. */
function placesOf(policy: CompiledPolicy): Places | null {
  const before = known.get(policy);
  if (before !== undefined) return before;
  const source = sourceOf(policy);
  if (source === null) return null;
  const read = readDocument(source.text, source.file);
  const places: Places = {
    source,
    document: read.ok ? read.document : null,
    lines: source.text.split(/\r\n|\r|\n/),
    found: new Map(),
  };
  known.set(policy, places);
  return places;
}

function find({ source, document, lines }: Places, rule: string): PlaceOfRule | null {
  if (document === null) return null;
  const path = pathOf(rule);
  const written = path === null ? null : writtenPath(document.value, path);
  if (written === null) return null;
  const { line } = document.locate(written, 'key');
  const text = maskText((lines[line - 1] ?? '').trim());
  return { file: source.file, line, text: shortened(text, maxLine) };
}

/**
 * `allow[2]`, `allow[0] (preset npm)`, `policy.blocked_api_patterns.DELETE[0]`; of several (`allow[0], allow[3]`) the first.
 * Whatever else stands in words (`built-in: …`, `repos of the registration`) has no place.
 */
function pathOf(rule: string): (string | number)[] | null {
  const credential = /^credentials\.([^,\s]+)$/.exec(rule);
  // The name is the operator's own and may hold a dot.
  if (credential !== null) return ['credentials', credential[1]!];
  const first = /^[a-z_]+(?:\.[A-Za-z_*-]+|\[\d{1,6}\])*(?=$|, | \()/.exec(rule)?.[0];
  if (first === undefined) return null;
  const steps: (string | number)[] = [];
  for (const [, key, index] of first.matchAll(/([A-Za-z_*-]+)|\[(\d+)\]/g)) steps.push(key ?? Number(index));
  return steps;
}

/** The path as it was written, or null when it was not. */
function writtenPath(value: unknown, path: readonly (string | number)[]): (string | number)[] | null {
  const written: (string | number)[] = [];
  let here = value;
  for (const step of path) {
    if (typeof step === 'number') {
      if (!Array.isArray(here) || step >= here.length) return null;
      written.push(step);
      here = here[step] as unknown;
      continue;
    }
    const key = keyIn(here, step);
    if (key === null) return null;
    written.push(key);
    here = Reflect.get(here as object, key);
  }
  return written;
}

/** Methods are upper case in a rule's name, however they were written. */
function keyIn(here: unknown, step: string): string | null {
  if (typeof here !== 'object' || here === null || Array.isArray(here)) return null;
  if (Object.hasOwn(here, step)) return step;
  return Object.keys(here).find((key) => key.toUpperCase() === step) ?? null;
}
