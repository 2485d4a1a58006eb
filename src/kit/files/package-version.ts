// The version in package.json.
import { readFileSync } from 'node:fs';
import { inPackage } from './package-root.ts';

export function packageVersion(): string {
  const text = readFileSync(inPackage('package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
