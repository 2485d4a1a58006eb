import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFileRegistry } from '../../support/file-registry.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-registry-'));
  path = join(directory, 'registry.json');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => openFileRegistry(path);

describe('damage to the registry stops the start, so that nothing is forgotten in silence', () => {
  test('cut off anywhere, it is refused and left as it is', async () => {
    const { registry, close } = await open();
    await registry.register({ id: 'one', container_ip: '172.18.0.5' });
    await close();
    const whole = readFileSync(path);
    // All but the very end, where only the final newline is lost.
    for (let length = 0; length < whole.length - 2; length += 37) {
      writeFileSync(path, whole);
      truncateSync(path, length);
      await expect(open(), `cut at ${length}`).rejects.toMatchObject({ code: 'registry.unreadable' });
      expect(readFileSync(path)).toHaveLength(length);
    }
  });

  test('a proof that was edited away does not make a sandbox that proves nothing', async () => {
    const { registry, close } = await open();
    await registry.register({ id: 'one', container_ip: '172.18.0.5', proof: ['ip', 'secret'] });
    await close();
    const written = readFileSync(path, 'utf8');
    expect(written).toContain('"proof":["ip","secret"]');
    writeFileSync(path, written.replace('"proof":["ip","secret"]', '"proof":[]'));
    await expect(open()).rejects.toMatchObject({ code: 'registry.unreadable' });
  });
});
