// The tests stand where a reader looks for them: by room, by threat family, by tier, on a ground that the index names.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPage, root } from './pages.ts';

/** What is tested in `tests/unit` and is no room of `src`. */
const besideTheSource = new Map([
  ['docs', 'docs'],
  ['deploy', 'deploy'],
  ['docker', 'docker'],
]);

/** Grounds that want root, a namespace or a daemon: the tests of one function have none of these. */
const heavyGrounds = [
  'compose-ground',
  'container-ground',
  'dialer',
  'docker-world',
  'dockerd',
  'firewall-ground',
  'gateway-network',
  'launch-ground',
  'namespace',
  'namespace-ground',
  'network-host',
  'pod-ground',
  'pretend-container',
  'redis-server',
  'run-ground',
  'trace-ground',
];

describe('tests/unit', () => {
  const below = readdirSync(join(root, 'tests/unit'), { recursive: true, withFileTypes: true });

  test('has the folders of the source, and those named here', () => {
    const folders = below
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(root, 'tests/unit/').length));
    expect(folders.length).toBeGreaterThan(40);
    for (const folder of folders) {
      const mirrored = besideTheSource.get(folder) ?? join('src', folder);
      expect(existsSync(join(root, mirrored)), `tests/unit/${folder} mirrors no ${mirrored}/`).toBe(true);
    }
  });

  test('stands on no ground that wants root, a namespace or a daemon', () => {
    const files = below.filter((entry) => entry.name.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(200);
    for (const entry of files) {
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
      const used = heavyGrounds.filter((ground) => text.includes(`/support/${ground}.ts'`));
      expect(used, entry.name).toEqual([]);
    }
  });
});

describe('tests/security', () => {
  const entries = readdirSync(join(root, 'tests/security'), { withFileTypes: true });

  test('has every attack in the folder of its family', () => {
    expect(entries.filter((entry) => entry.name.endsWith('.ts')).map(({ name }) => name)).toEqual([]);
  });

  test('says of every family what must not happen, and of no other', () => {
    const told = [...readPage('tests/security/README.md').text.matchAll(/^\| `([a-z]+)\/`/gm)].map((match) => match[1]);
    expect(told).toEqual(
      entries
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .sort(),
    );
  });
});

describe('tests/support', () => {
  test('has every ground in its index, and no other', () => {
    const told = readPage('tests/support/README.md').text.match(/(?<=`)[\w.-]+\.(?:ts|json)(?=`)/g)!;
    const there = readdirSync(join(root, 'tests/support')).filter((name) => name !== 'README.md');
    expect([...new Set(told)].sort()).toEqual(there.sort());
  });
});

describe('the tiers', () => {
  test('are one command for each folder that has tests', () => {
    const { scripts } = JSON.parse(readPage('package.json').text) as { scripts: Record<string, string> };
    const tiers = readdirSync(join(root, 'tests')).filter((tier) =>
      readdirSync(join(root, 'tests', tier), { recursive: true, encoding: 'utf8' }).some((name) =>
        name.endsWith('.test.ts'),
      ),
    );
    expect(tiers).toContain('unit');
    for (const tier of tiers) expect(scripts[`test:${tier}`]).toBe(`vitest run tests/${tier}/`);
  });
});
