import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toPublic } from '../../../src/stages/identify/registry/sandbox-record.ts';
import { openFileRegistry } from '../../support/file-registry.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-registry-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the secret of a sandbox is nowhere but where it was handed out', () => {
  test('not on the disk, not in the record, not in what the admin API shows', async () => {
    const { registry, close } = await openFileRegistry(join(directory, 'registry.json'));
    const { record, secret } = await registry.register({
      id: 'one',
      container_ip: '172.18.0.5',
      proof: ['ip', 'secret'],
    });
    registry.touch(record);
    await close();

    const onDisk = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
    expect(onDisk).toHaveLength(1);
    expect(onDisk[0]).toContain('"one"');
    const raw = Buffer.from(secret!, 'base64url');
    const spellings = [secret!, raw.toString('hex'), raw.toString('base64')];
    const shown = [
      ...onDisk,
      JSON.stringify(record),
      JSON.stringify(toPublic(record)),
      inspect(record, { showHidden: true, depth: 9 }),
    ];
    for (const text of shown) for (const spelling of spellings) expect(text).not.toContain(spelling);
  });
});
