// One reading of a path: decoded exactly once. Whatever two servers could read differently (dot segments, double
// encoding, backslashes, empty segments, control bytes, broken UTF-8) is refused, never repaired. // Guards: threats.md T6
import { Refusal } from '../../path/refusal.ts';

export interface CanonicalTarget {
  readonly path: string;
  readonly rawPath: string;
  readonly query: string | null;
}

const targetBytes = /^[\x21-\x7e]*$/;
const dotSegment = /(?:^|\/)\.{1,2}(?:[/;]|$)/;

export function canonicalTarget(target: string): CanonicalTarget {
  if (target.charCodeAt(0) !== 0x2f) throw bad(target, 'does not begin with /');
  if (!targetBytes.test(target)) throw bad(target, 'holds bytes that must be percent-encoded');
  if (target.includes('#')) throw bad(target, 'holds a fragment');
  const question = target.indexOf('?');
  const rawPath = question < 0 ? target : target.slice(0, question);
  const query = question < 0 ? null : target.slice(question + 1);
  const path = rawPath.includes('%') ? decodeOnce(rawPath) : rawPath;
  if (path.includes('\\')) throw bad(target, 'holds a backslash');
  if (path.includes('//')) throw bad(target, 'holds an empty segment (//)');
  if (path.includes('/.') && dotSegment.test(path)) throw bad(target, 'holds a dot segment');
  return { path, rawPath, query };
}

function decodeOnce(rawPath: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(rawPath);
  } catch {
    throw bad(rawPath, 'is not valid percent-encoded UTF-8');
  }
  if (/%[0-9a-f]{2}/i.test(decoded)) throw bad(rawPath, 'is encoded twice');
  if (/\p{Cc}/u.test(decoded)) throw bad(rawPath, 'holds a control byte');
  return decoded;
}

function bad(target: string, what: string): Refusal {
  const shown = target.split('?', 1)[0]!.slice(0, 200);
  return new Refusal('malformed.path', `the path ${JSON.stringify(shown)} ${what}`, {
    rule: 'built-in: one reading of a path',
    hint: 'Send the path in its plain, normalised form.',
  });
}
