// Must not happen: a sandbox gets a certificate minted for a wildcard, an address, or a name that readers of
// certificates take for another one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCa } from '../../../../../src/stages/accept/tls/ca.ts';
import { LeafMinter } from '../../../../../src/stages/accept/tls/leaf.ts';

let directory: string;
let minter: LeafMinter;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-no-host-'));
  minter = new LeafMinter(await openCa(directory));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('only a plain host name gets a certificate', () => {
  test.each([
    '',
    '*',
    '*.example.com',
    'api.example.com.',
    '.example.com',
    'a..example.com',
    'API.example.com',
    '127.0.0.1',
    '::1',
    '[::1]',
    'good.example\0.evil.example',
    'good.example, DNS:evil.example',
    'good.example/CN=evil',
    'bücher.example',
    'user@good.example',
    '-a.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}`,
    `${'a.'.repeat(126)}aa`,
  ])('%j gets none', (name) => {
    expect(() => minter.mintLeaf(name)).toThrow('not a host name');
    expect(() => minter.contextFor(name)).toThrow('not a host name');
    expect(minter.size).toBe(0);
  });
});
