// Attack: change a record, compute every line after it anew and write a head that agrees, as who may write the files can. The
// key that signed the journal was in the memory of the gateway alone.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatHead, hashLine, headPath, readHead } from '../../../src/stages/audit/journal/journal-files.ts';
import { JournalSigner } from '../../../src/stages/audit/journal/journal-signer.ts';
import { SigningKey, signaturesPath } from '../../../src/stages/audit/journal/signatures.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { runWith } from '../../unit/cli/command-line.ts';
import {
  fileOf,
  journalDirectory,
  openJournal,
  quiet,
  sampleRecord,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

/** A gateway that ran once and ended in order; its key, as its log has it. */
function ranOnce(directory: string, count = 20, options: Parameters<typeof openJournal>[1] = {}): string {
  const journal = openJournal(directory, options);
  const signer = new JournalSigner({ journal, log: quiet });
  for (let i = 1; i <= count; i++) journal.append(sampleRecord(i));
  signer.close();
  return signer.fingerprint;
}

/** All of the chain after a change, and the head. */
function rewrite(directory: string, change: (lines: string[]) => string[]): void {
  const lines = change(readFileSync(fileOf(directory), 'utf8').trimEnd().split('\n'));
  let prev = '0'.repeat(64);
  const anew = lines.map((line, i) => {
    const made = line.replace(/^\{"seq":\d+,"prev":"[0-9a-f]{64}"/, `{"seq":${i + 1},"prev":"${prev}"`);
    prev = hashLine(made);
    return made;
  });
  writeFileSync(fileOf(directory), `${anew.join('\n')}\n`);
  writeFileSync(headPath(directory), formatHead({ seq: anew.length, hash: prev, oldest: 1 }));
}

const forged = (lines: string[]): string[] =>
  lines.map((line, i) => (i === 2 ? line.replace('"status":200', '"status":403') : line));

function signAs(key: SigningKey, directory: string): void {
  const head = readHead(directory);
  if (head === null || head === 'unreadable') throw new Error('no head');
  writeFileSync(signaturesPath(directory), `${key.sign(head.seq, head.hash, new Date().toISOString())}\n`);
}

const audit = (...args: string[]) => runWith(['audit', 'verify', ...args]);

describe('a chain that was rewritten as a whole', () => {
  test('is not the one that was signed', async () => {
    const directory = journalDirectory();
    ranOnce(directory);
    rewrite(directory, forged);
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'signature', seq: 20 });
  });

  test('nor is one that was cut', async () => {
    const directory = journalDirectory();
    ranOnce(directory);
    rewrite(directory, (lines) => lines.slice(0, 15));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'truncated', seq: 16 });
  });

  test('nor with a signature that was edited to fit', async () => {
    const directory = journalDirectory();
    ranOnce(directory);
    rewrite(directory, forged);
    const head = readHead(directory);
    const text = readFileSync(signaturesPath(directory), 'utf8');
    const hash = head === null || head === 'unreadable' ? '' : head.hash;
    writeFileSync(signaturesPath(directory), text.replace(/"hash":"[0-9a-f]+"/, `"hash":"${hash}"`));
    expect(await verifyJournal(directory)).toMatchObject({ ok: false, kind: 'signature', file: 'signatures' });
  });

  test('without its signatures, or signed by another key, is none of the key that the log names', async () => {
    const directory = journalDirectory();
    const key = ranOnce(directory);
    expect(await audit(directory, '--key', key)).toMatchObject({ code: 0 });
    rewrite(directory, forged);
    rmSync(signaturesPath(directory));
    const removed = await audit(directory, '--key', key);
    expect(removed).toMatchObject({ code: 1, out: expect.stringContaining(`signed with the key ${key}`) });
    signAs(new SigningKey(), directory);
    expect(await audit(directory, '--key', key)).toMatchObject({ code: 1 });
    // Who knows no key is told which to compare.
    const unknown = await audit(directory);
    expect(unknown).toMatchObject({ code: 0, out: expect.stringContaining("compare it with the gateway's log") });
    expect(unknown.out).not.toContain(key);
  });
});

describe('what nobody touched', () => {
  test('holds over many starts, each with its key, and over what retention lets go', async () => {
    const directory = journalDirectory();
    const small = { maxFileBytes: 8000, keepFiles: 2 };
    const keys = [1, 2, 3, 4, 5].map(() => ranOnce(directory, 10, small));
    const found = await verifyJournal(directory);
    expect(found).toMatchObject({ ok: true, aheadOfHead: 0 });
    if (!found.ok) return;
    expect(found.letGo).not.toBeNull();
    expect(found.signed.at(-1)).toMatchObject({ key: keys[4], seq: found.lastSeq });
    // Those of the first starts went with what they had signed.
    expect(found.signed.length).toBeLessThan(5);
  });

  test('is signed while it grows, one interval late, and says what is not signed yet', async () => {
    const directory = journalDirectory();
    const journal = openJournal(directory);
    const signer = new JournalSigner({ journal, log: quiet, everyMs: 3_600_000 });
    for (let i = 1; i <= 5; i++) journal.append(sampleRecord(i));
    signer.tick();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, signed: [] });
    journal.append(sampleRecord(6));
    signer.tick();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: 6, signed: [{ seq: 5 }] });
    signer.tick();
    signer.tick();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, signed: [{ seq: 6 }] });
    signer.close();
  });

  test('what the disk did not take is not signed', async () => {
    const directory = journalDirectory();
    let isFull = false;
    const { writeSync } = await import('node:fs');
    const fs = {
      writeSync: ((...args: Parameters<typeof writeSync>) => {
        if (isFull) throw new Error('ENOSPC');
        return writeSync(...args);
      }) as typeof writeSync,
    };
    const journal = openJournal(directory, { fs });
    const signer = new JournalSigner({ journal, log: quiet });
    journal.append(sampleRecord(1));
    signer.tick();
    isFull = true;
    journal.append(sampleRecord(2));
    signer.tick();
    signer.close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, lastSeq: 1, signed: [{ seq: 1 }] });
  });
});
