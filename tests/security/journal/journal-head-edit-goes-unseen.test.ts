// Attack: edit, remove or set back the head, the file that says where the journal ends.
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { fillJournal, journalDirectory, openJournal, tamper } from '../../unit/stages/audit/journal/journal-fixture.ts';

function editHead(directory: string, change: (text: string) => string): void {
  const path = join(directory, 'head');
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

describe('the head cannot be edited unseen', () => {
  test.each([
    ['a later record', (text: string) => text.replace(/^( *)20 /, '$125 '), 'truncated'],
    ['an earlier record, to hide a cut', (text: string) => text.replace(/^( *)20 /, '$118 '), 'head'],
    ['another hash', (text: string) => text.replace(/ ([0-9a-f]{64}) /, ` ${'ab'.repeat(32)} `), 'edited'],
    ['an older oldest record', (text: string) => text.replace(/1\n$/, '0\n'), 'missing-file'],
    ['no head at all', () => 'hello\n', 'head'],
    ['nothing', () => '', 'head'],
  ])('%s', async (_name, change, kind) => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    editHead(directory, change);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('a removed head is found', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    unlinkSync(join(directory, 'head'));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'head' });
    expect(openJournal(directory).healthy).toBe(false);
  });

  test('cutting the end and setting the number back needs the hash of the new end too', async () => {
    const directory = journalDirectory();
    fillJournal(directory, 20);
    tamper(directory, (lines) => lines.slice(0, 18));
    editHead(directory, (text) => text.replace(/^( *)20 /, '$118 '));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'edited', seq: 18 });
  });
});
