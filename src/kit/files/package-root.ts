// Where this package lies, for the files it ships beside its code (config/, package.json). The code may run from src/ or
// from a bundle in dist/, which are not equally deep, so the way up is looked for and not counted.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let found: string | null = null;

/** A path below the root of the package. */
export function inPackage(...parts: readonly string[]): string {
  found ??= findRoot(dirname(fileURLToPath(import.meta.url)));
  return join(found, ...parts);
}

function findRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const above = dirname(from);
  if (above === from) throw new Error('the package is not complete: no package.json lies above its code');
  return findRoot(above);
}
