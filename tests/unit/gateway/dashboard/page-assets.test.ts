import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readPageAssets } from '../../../../src/gateway/dashboard/page-assets.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-page-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('files are served by their names, the index also as the root, and what is no part of a page is left out', () => {
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  writeFileSync(join(folder, 'page.css'), 'a{}');
  mkdirSync(join(folder, 'parts'));
  writeFileSync(join(folder, 'parts', 'feed.js'), 'export {};');
  writeFileSync(join(folder, 'tsconfig.json'), '{}');
  writeFileSync(join(folder, '.env'), 'KEY=1');
  symlinkSync('/etc/hostname', join(folder, 'host.svg'));
  const assets = readPageAssets(folder);
  expect([...assets.keys()].sort()).toEqual(['/', '/index.html', '/page.css', '/parts/feed.js']);
  expect(assets.get('/')?.type).toBe('text/html; charset=utf-8');
  expect(assets.get('/parts/feed.js')).toMatchObject({ type: 'text/javascript; charset=utf-8' });
});

test('a page without an index does not start', () => {
  expect(() => readPageAssets(folder)).toThrow(/index\.html is not there/);
});
