import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { removeUnfinished, writeFileAtomically } from '../../../../src/kit/files/atomic-file.ts';
import { takeLock } from '../../../../src/kit/files/file-lock.ts';

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-atomic-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe('a file is written whole or not at all', () => {
  test('new content, exact mode whatever the umask, and nothing left beside it', async () => {
    const directory = scratch();
    const path = join(directory, 'registry.json');
    const umask = process.umask(0o077);
    onTestFinished(() => void process.umask(umask));
    await writeFileAtomically(path, 'one');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await writeFileAtomically(path, Buffer.from('two'), 0o644);
    expect(readFileSync(path, 'utf8')).toBe('two');
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(directory)).toEqual(['registry.json']);
  });

  test('a failure leaves the old content and no temporary file', async () => {
    const directory = scratch();
    const path = join(directory, 'taken');
    mkdirSync(path);
    writeFileSync(join(path, 'inside'), 'old');
    await expect(writeFileAtomically(path, 'new')).rejects.toThrow();
    expect(readFileSync(join(path, 'inside'), 'utf8')).toBe('old');
    expect(readdirSync(directory)).toEqual(['taken']);
  });

  test('a symbolic link is replaced, not followed', async () => {
    const directory = scratch();
    const victim = join(directory, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, join(directory, 'link'));
    await writeFileAtomically(join(directory, 'link'), 'new');
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(readFileSync(join(directory, 'link'), 'utf8')).toBe('new');
  });

  test('many writers at once: the last one to finish wins, whole', async () => {
    const path = join(scratch(), 'file');
    const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(5000));
    await Promise.all(texts.map((text) => writeFileAtomically(path, text)));
    expect(texts).toContain(readFileSync(path, 'utf8'));
  });
});

describe('a lock has one holder', () => {
  test('the second is told at once, and may have it when the first lets go', () => {
    const path = join(scratch(), 'lock');
    const release = takeLock(path);
    expect(release).not.toBeNull();
    expect(takeLock(path)).toBeNull();
    release!();
    const again = takeLock(path);
    expect(again).not.toBeNull();
    again!();
  });

  test('a symbolic link in its place is not followed', () => {
    const directory = scratch();
    symlinkSync(join(directory, 'elsewhere'), join(directory, 'lock'));
    expect(() => takeLock(join(directory, 'lock'))).toThrow(/ELOOP/);
  });
});

test('what a crash has left of a write is removed, and nothing else', async () => {
  const directory = scratch();
  const others = ['.other.json.0123456789ab.tmp', '.registry.json.swp', '.registry.json.mine.tmp', 'registry.json'];
  for (const name of [...others, '.registry.json.0123456789ab.tmp']) writeFileSync(join(directory, name), '');
  await removeUnfinished(join(directory, 'registry.json'));
  expect(readdirSync(directory).sort()).toEqual([...others].sort());
});
