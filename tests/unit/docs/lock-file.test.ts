// The lock file is what `npm ci` installs by: it names every package for every platform, and no host to fetch them from.
import { expect, test } from 'vitest';
import { readPage } from './pages.ts';

interface Entry {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { text } = readPage('package-lock.json');
const entries: Readonly<Record<string, Entry>> = JSON.parse(text).packages;

/** Where Node looks for a package that is asked for at a place: in its own folder, then in each above. */
function placesFor(name: string, place: string): string[] {
  const folders = place.split(/\/?node_modules\//).slice(1);
  return [...folders.keys(), folders.length].map((depth) =>
    [...folders.slice(0, depth), name].map((folder) => `node_modules/${folder}`).join('/'),
  );
}

test('no host is named in it', () => {
  expect(text).not.toContain('"resolved"');
  const withoutFunding = text.replace(/"funding": (?:"[^"]*"|\{[^}]*\}|\[[^\]]*\])/g, '');
  expect(withoutFunding).not.toMatch(/[a-z+]+:\/\//);
});

test('what a package asks for is there, for every platform: npm ci refuses the file otherwise', () => {
  const lacking = Object.entries(entries).flatMap(([place, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !placesFor(name, place).some((one) => entries[one] !== undefined))
      .map((name) => `${place} asks for ${name}`),
  );
  expect(Object.keys(entries).length).toBeGreaterThan(100);
  expect(lacking).toEqual([]);
});

test('what Linux may install has a checksum', () => {
  const without = Object.entries(entries).filter(([place, { integrity }]) => place !== '' && integrity === undefined);
  for (const [place, { dev, optional, os }] of without) {
    expect({ place, dev, optional }).toEqual({ place, dev: true, optional: true });
    expect(os, place).toHaveLength(1);
    expect(os, place).not.toContain('linux');
  }
});
