// A path has two forms, as it came and decoded, and a server may read either. What allows must hold for every form
// a server could read; what blocks holds if it matches any. // Guards: threats.md T6
import type { CanonicalRequest } from '../../path/flow.ts';
import type { PathPattern } from '../../policy/compiled.ts';

// Decoding anything else cannot move a segment boundary, so the decoded form stands for both.
const hiddenBoundary = /%2f|%5c/i;

export function hidesABoundary({ rawPath }: CanonicalRequest): boolean {
  return rawPath.includes('%') && hiddenBoundary.test(rawPath);
}

/** `patterns` null: every path. */
export function coversPath(patterns: readonly PathPattern[] | null, canonical: CanonicalRequest): boolean {
  if (patterns === null) return true;
  if (!patterns.some((pattern) => pattern.covers(canonical.path))) return false;
  return !hidesABoundary(canonical) || patterns.some((pattern) => pattern.covers(canonical.rawPath));
}

/** Every reading of the path that a block must be tried on. */
export function readingsOf({ path, rawPath }: CanonicalRequest): readonly string[] {
  const readings = path === rawPath ? [path] : [path, rawPath];
  const last = path.length - 1;
  if (last > 0 && path.charCodeAt(last) === 0x2f) readings.push(path.slice(0, -1));
  if (rawPath !== path && rawPath.length > 1 && rawPath.endsWith('/')) readings.push(rawPath.slice(0, -1));
  // Some servers take what follows a semicolon for parameters of the segment and drop it.
  if (path.includes(';')) readings.push(path.replaceAll(/;[^/]*/g, ''));
  return readings;
}
