// Which operation of GitHub's REST API a method and path are, and so what it would do and to which repository.
// Reads a path in every way a server might (case, hidden slashes, matrix parameters) and never picks the harmless one:
// where two readings are two operations, the answer is a doubt, which is to be refused. // Guards: threats.md T6, T8
import type { GithubEffect } from '../../../path/github-effects.ts';
import { loadRestTable } from './operation-table.ts';
import { type OperationTrie, type PlacedOperation, plantOperations } from './operation-trie.ts';

export type NamedRepository = { readonly owner: string; readonly name: string } | { readonly id: string };

export interface RestOperation {
  readonly kind: 'operation';
  /** As in the table, HEAD as GET. */
  readonly method: string;
  /** GitHub's own spelling, the same for every second name: `/repositories/7/issues` is `/repos/{owner}/{repo}/issues`. */
  readonly template: string;
  readonly effect: GithubEffect;
  /** Decoded values by the names in the template; under /repositories/ID `repository_id` stands for `owner` and `repo`. */
  readonly params: ReadonlyMap<string, string>;
  /** The repository the path names, not yet compared with anything; null: it names none. */
  readonly repository: NamedRepository | null;
}

/** Could be this operation, depending on how the server reads it: to be refused. */
export interface RestDoubt {
  readonly kind: 'doubt';
  readonly method: string;
  readonly template: string;
  readonly effect: GithubEffect;
  /** Completes a sentence that begins with the path. */
  readonly why: string;
}

const hasCapitals = /[A-Z]/;

// Each is a bit of the number that a reading has in otherReading.
const readingWays = [
  'when upper and lower case are taken as one',
  'when a hidden slash (%2F) is taken for a boundary',
  'when what follows a semicolon is dropped',
] as const;

let shipped: OperationTrie | null = null;

/**
 * `rawPath`: the path as it came (CanonicalRequest.rawPath), still percent-encoded, without query and without the prefix
 * of an Enterprise host (/api/v3, /api/uploads). Each segment is decoded here by itself: `%2F` inside one belongs to its
 * parameter. One slash at the end makes no difference. Null: no operation in the table.
 */
export function findRestOperation(method: string, rawPath: string): RestOperation | RestDoubt | null {
  shipped ??= plantOperations(loadRestTable());
  return findIn(shipped, method, rawPath);
}

export function findIn(trie: OperationTrie, method: string, rawPath: string): RestOperation | RestDoubt | null {
  const judged = method === 'HEAD' ? 'GET' : method;
  const segments = segmentsOf(rawPath);
  if (segments === null) return null;
  const found = trie.find(judged, segments);
  const other = otherReading(trie, judged, rawPath, segments, found);
  if (other !== null) return other;
  return found === null ? oddNumber(trie, judged, segments) : describe(found, segments);
}

/** Decoded segments; null when a part of the path is empty, a dot segment or not UTF-8, which nobody is to guess about. */
function segmentsOf(rawPath: string): string[] | null {
  if (rawPath.charCodeAt(0) !== 0x2f) return null;
  if (rawPath.length === 1) return [];
  const segments = rawPath.split('/');
  segments.shift();
  if (segments.at(-1) === '') segments.pop();
  const encoded = rawPath.includes('%');
  for (let index = 0; index < segments.length; index++) {
    const decoded = encoded ? decode(segments[index]!) : segments[index]!;
    if (decoded === null || !isPlain(decoded)) return null;
    segments[index] = decoded;
  }
  return segments;
}

function decode(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function isPlain(segment: string): boolean {
  if (segment === '' || segment === '.' || segment === '..') return false;
  if (segment.includes('\\')) return false;
  return !segment.includes('/') || segment.split('/').every(isPlain);
}

/** A doubt when a reading that some server might make is another operation than the one that was found. */
function otherReading(
  trie: OperationTrie,
  method: string,
  rawPath: string,
  segments: readonly string[],
  found: PlacedOperation | null,
): RestDoubt | null {
  const encoded = rawPath.includes('%');
  const slashes = encoded && segments.some((segment) => segment.includes('/'));
  const parameters = (encoded || rawPath.includes(';')) && segments.some((segment) => segment.includes(';'));
  const capitals = encoded || hasCapitals.test(rawPath);
  if (!slashes && !parameters && !capitals) return null;
  for (let reading = 1; reading < 8; reading++) {
    if ((reading & 1 && !capitals) || (reading & 2 && !slashes) || (reading & 4 && !parameters)) continue;
    let read = segments;
    if (reading & 2) read = read.flatMap((segment) => segment.split('/'));
    if (reading & 4) read = read.map((segment) => segment.replace(/;.*$/s, ''));
    if (reading & 1) read = read.map((segment) => segment.toLowerCase());
    const other = trie.find(method, read, { folded: (reading & 1) === 1, anyNumber: false });
    if (other !== null && other.line !== found?.line) return doubt(other, waysOf(reading));
  }
  if (found === null) return null;
  if (slashes && namesHiddenSlash(found, segments)) return doubt(found, waysOf(2));
  // The same operation, but on another branch or file than the rules for branches and files would be asked about.
  return parameters && found.line.effect === 'push' ? doubt(found, waysOf(4)) : null;
}

/** A word where a number belongs: some server could read `5x` as 5. Only asked when the path is no operation otherwise. */
function oddNumber(trie: OperationTrie, method: string, segments: readonly string[]): RestDoubt | null {
  const lower = segments.flatMap((segment) => segment.toLowerCase().split('/'));
  const other = trie.find(method, lower, { folded: true, anyNumber: true });
  return other === null ? null : doubt(other, ['when a word is taken for a number']);
}

/** A slash inside the name of a repository: another server would read another repository. */
function namesHiddenSlash(found: PlacedOperation, segments: readonly string[]): boolean {
  return found.repositoryAt.some((at) => segments[at]!.includes('/'));
}

function waysOf(reading: number): string[] {
  return readingWays.filter((_, bit) => reading & (1 << bit));
}

function doubt({ line: { method, template, effect } }: PlacedOperation, ways: readonly string[]): RestDoubt {
  return { kind: 'doubt', method, template, effect, why: `reads as ${method} ${template} ${ways.join(' and ')}` };
}

function describe(found: PlacedOperation, segments: readonly string[]): RestOperation {
  const params = new Map<string, string>();
  const extra = segments.length - found.parts.length;
  let at = 0;
  for (const part of found.parts) {
    const end = part.spans ? at + 1 + extra : at + 1;
    if (part.name !== null) params.set(part.name, end === at + 1 ? segments[at]! : segments.slice(at, end).join('/'));
    at = end;
  }
  const { method, template, effect } = found.line;
  return { kind: 'operation', method, template, effect, params, repository: repositoryOf(found, segments) };
}

function repositoryOf({ repositoryAt }: PlacedOperation, segments: readonly string[]): NamedRepository | null {
  if (repositoryAt.length === 0) return null;
  const first = segments[repositoryAt[0]!]!;
  return repositoryAt.length === 1 ? { id: first } : { owner: first, name: segments[repositoryAt[1]!]! };
}
