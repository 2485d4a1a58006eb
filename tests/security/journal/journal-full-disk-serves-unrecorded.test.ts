// Attack: fill the disk so that what happens next leaves no trace. The gateway must stop serving, lose nothing it
// has promised to keep, and go on with a whole chain when there is room again.
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { createApprovalNotes } from '../../../src/gateway/build/approval-notes.ts';
import { createAudit } from '../../../src/stages/audit/audit-stage.ts';
import { Feed } from '../../../src/stages/audit/feed.ts';
import { JournalUnavailableError } from '../../../src/stages/audit/journal/journal.ts';
import type { JournalFs } from '../../../src/stages/audit/journal/journal-disk.ts';
import { readJournal } from '../../../src/stages/audit/journal/read-journal.ts';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { openAskingStage } from '../../support/asking-stage.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import {
  collect,
  journalDirectory,
  openJournal,
  quiet,
  sampleRecord,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

/** A disk with so many bytes left; the write that crosses the end is cut short, as a real one is. */
function smallDisk(): { room: number; writeSync: JournalFs['writeSync'] } {
  const disk = { room: Number.POSITIVE_INFINITY, writeSync: (() => 0) as JournalFs['writeSync'] };
  disk.writeSync = ((fd: number, data: Buffer | string, ...rest: number[]) => {
    if (disk.room <= 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    if (typeof data === 'string') return fs.writeSync(fd, data, rest[0]);
    const length = Math.min(rest[1]!, disk.room);
    disk.room -= length;
    return fs.writeSync(fd, data, rest[0], length, rest[2]);
  }) as JournalFs['writeSync'];
  return disk;
}

const nothing = { count() {}, countUnrecorded() {} };

describe('a full disk stops the service, not the record', () => {
  test('unhealthy at once, nothing lost, and whole again when there is room', async () => {
    const directory = journalDirectory();
    const disk = smallDisk();
    const error = vi.fn();
    const journal = openJournal(directory, { fs: { writeSync: disk.writeSync }, log: { ...quiet, error } });
    const audit = createAudit({ journal, metrics: nothing, feed: new Feed(), log: quiet });
    for (let i = 1; i <= 5; i++) journal.append(sampleRecord(i));
    journal.flush();
    audit.requireJournal();

    disk.room = 700; // One record and a half.
    for (let i = 6; i <= 10; i++) journal.append(sampleRecord(i));
    journal.flush();
    expect(journal.healthy).toBe(false);
    expect(journal.state).toMatchObject({ kind: 'failing', reason: expect.stringContaining('ENOSPC') });
    expect(error).toHaveBeenCalledOnce();
    expect(error.mock.calls[0]![0]).toMatch(/nothing is served until it can: free space/);
    expect(() => audit.requireJournal()).toThrow(expect.objectContaining({ code: 'audit.unavailable', status: 500 }));

    // Requests that were already on their way end and are kept in memory.
    journal.append(sampleRecord(11));
    expect(journal.queued).toBe(1);

    disk.room = Number.POSITIVE_INFINITY;
    await vi.waitFor(() => expect(journal.healthy).toBe(true), { timeout: 20_000 });
    audit.requireJournal();
    journal.append(sampleRecord(12));
    journal.close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 12, lastSeq: 12, tornBytes: 0 });
  });

  test('a restart while the disk is full finds a chain that holds', async () => {
    const directory = journalDirectory();
    const disk = smallDisk();
    const journal = openJournal(directory, { fs: { writeSync: disk.writeSync }, retryMs: 60_000 });
    for (let i = 1; i <= 5; i++) journal.append(sampleRecord(i));
    journal.flush();
    disk.room = 700;
    for (let i = 6; i <= 10; i++) journal.append(sampleRecord(i));
    journal.close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true });
    openJournal(directory).close();
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, tornBytes: 0 });
  });

  test('memory is bounded: past the limit a record is refused, and a note says how many were', async () => {
    const directory = journalDirectory();
    const disk = smallDisk();
    const journal = openJournal(directory, { fs: { writeSync: disk.writeSync }, maxQueued: 10 });
    disk.room = 0;
    journal.append(sampleRecord(1));
    journal.flush();
    for (let i = 2; i <= 11; i++) journal.append(sampleRecord(i));
    expect(() => journal.append(sampleRecord(12))).toThrow(JournalUnavailableError);
    expect(() => journal.append(sampleRecord(13))).toThrow(/free space/);
    expect(journal.queued).toBe(10);
    disk.room = Number.POSITIVE_INFINITY;
    await vi.waitFor(() => expect(journal.healthy).toBe(true), { timeout: 20_000 });
    await sleep(5);
    const entries = await collect(readJournal(directory));
    expect(entries.at(-1)).toMatchObject({ seq: 12, note: 'lost', count: 2 });
    expect(await verifyJournal(directory)).toMatchObject({ ok: true, records: 12 });
  });

  test('a head that cannot be written counts as a failure too', () => {
    const directory = journalDirectory();
    let failing = false;
    const writeSync = ((fd: number, data: Buffer | string, ...rest: number[]) => {
      if (typeof data !== 'string') return fs.writeSync(fd, data, rest[0], rest[1], rest[2]);
      if (failing) throw new Error('EIO: i/o error');
      return fs.writeSync(fd, data, rest[0]);
    }) as JournalFs['writeSync'];
    const journal = openJournal(directory, { fs: { writeSync } });
    failing = true;
    journal.append(sampleRecord(1));
    journal.flush();
    expect(journal.healthy).toBe(false);
    failing = false;
    journal.flush();
    expect(journal.healthy).toBe(true);
  });
});

describe('while the disk is full nobody is let through by a person either', () => {
  const by = 'user 0';
  const url = 'https://ask.example/v1/things';
  const line = '  - { host: ask.example }';
  const yes = [
    { answer: 'approve', for: 'once', by },
    { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path', by },
    { answer: 'approve', for: 'always', scope: 'host', line, by },
  ] as const;

  function openGround() {
    const directory = journalDirectory();
    const disk = smallDisk();
    const journal = openJournal(directory, { fs: { writeSync: disk.writeSync } });
    const policy = handMadePolicy({ allow: [{ host: 'ask.example', ask: true }] });
    const stage = openAskingStage(policy, createApprovalNotes(journal));
    const held = stage.outcome(stage.flowOf('POST', url));
    return { directory, disk, journal, stage, held };
  }

  test.each(yes)('a disk that has filled up since is found out by the answer itself: $for', async (answer) => {
    const { directory, disk, journal, stage, held } = openGround();
    disk.room = 0;
    expect(journal.healthy).toBe(true);
    await expect(stage.service.answer('q1', answer)).rejects.toMatchObject({ reason: 'unrecorded' });
    expect(journal.healthy).toBe(false);
    for (const one of yes) await expect(stage.service.answer('q1', one)).rejects.toThrow('so nothing is approved');
    await expect(stage.service.startLearning('one')).rejects.toThrow('so nothing is approved');
    expect(stage.inForce.set).toEqual({ approvals: [], learning: [] });
    expect(stage.written).toEqual([]);
    expect(stage.service.list()).toHaveLength(1);

    disk.room = Number.POSITIVE_INFINITY;
    await vi.waitFor(() => expect(journal.healthy).toBe(true), { timeout: 20_000 });
    await stage.service.answer('q1', yes[0]);
    expect(await held).toBe('allow[0]');
    journal.close();
    const notes = (await collect(readJournal(directory))).map((entry) => 'answer' in entry && entry.answer);
    expect(notes).toEqual([expect.stringContaining('approve'), 'not granted', 'approve once']);
    expect(await verifyJournal(directory)).toMatchObject({ ok: true });
  });

  test('a no is a no all the same, and so is the end of an approval', async () => {
    const { disk, journal, stage, held } = openGround();
    await stage.service.answer('q1', yes[1]);
    expect(await held).toBe('approval a1');
    const second = stage.outcome(stage.flowOf('POST', `${url}/2`));
    disk.room = 0;
    expect(await stage.service.withdraw('a1', by)).toBe(true);
    journal.close();
    await stage.service.answer('q2', { answer: 'deny', by });
    expect(await second).toBe('approval.denied');
    expect(stage.inForce.set.approvals).toEqual([]);
  });
});
