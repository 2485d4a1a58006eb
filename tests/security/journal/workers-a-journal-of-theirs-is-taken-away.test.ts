// Attack: take away, cut, rewind or edit the journal of a worker, which is not the one that the gateway itself writes.
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatHead, headPath, listJournalFiles, readHead } from '../../../src/stages/audit/journal/journal-files.ts';
import { workerJournal } from '../../../src/stages/audit/journal/journal-parts.ts';
import { verifyGateway } from '../../../src/stages/audit/journal/verify-gateway.ts';
import { letGoOfLeftJournals, workerNote } from '../../../src/stages/audit/journal/worker-notes.ts';
import { eventually } from '../../support/eventually.ts';
import {
  ask,
  registered,
  servedBy,
  startWorkersGround,
  upWithWorkers,
  type WorkersGround,
} from '../../support/workers-ground.ts';
import { runWith } from '../../unit/cli/command-line.ts';
import {
  fileOf,
  fillJournal,
  journalDirectory,
  openJournal,
  quiet,
  sampleRecord,
} from '../../unit/stages/audit/journal/journal-fixture.ts';

/** A gateway with two workers that was stopped: one has served eight requests, the other seven. */
function stoppedGateway(): { directory: string; one: string; two: string } {
  const directory = journalDirectory();
  const [one, two] = [workerJournal(directory, 1), workerJournal(directory, 2)];
  openJournal(directory).close();
  fillJournal(one, 8);
  fillJournal(two, 7);
  note(directory, 1, one, 'is closed');
  note(directory, 2, two, 'is closed');
  return { directory, one, two };
}

function note(directory: string, worker: number, folder: string, how: string): void {
  const head = readHead(folder);
  if (head === null || head === 'unreadable') throw new Error('no head');
  const journal = openJournal(directory);
  journal.append(workerNote(worker, head, how));
  journal.close();
}

describe('the journals of a gateway with workers', () => {
  test('hold as they are', async () => {
    const { directory } = stoppedGateway();
    const workers = [
      { worker: 1, records: 8 },
      { worker: 2, records: 7 },
    ];
    expect(await verifyGateway(directory)).toMatchObject({ ok: true, records: 2, workers });
    const { code, out } = await runWith(['audit', 'verify', directory]);
    expect(code).toBe(0);
    expect(out).toMatch(/worker 2: \S*intact\S* 7 records in 1 files/);
  });

  test('one that is taken away is missed', async () => {
    const { directory, two } = stoppedGateway();
    rmSync(two, { recursive: true });
    const found = await verifyGateway(directory);
    expect(found).toMatchObject({ ok: false, kind: 'truncated', file: 'worker-2' });
    expect((await runWith(['audit', 'verify', directory])).code).toBe(1);
  });

  test('one that is as it was earlier, head and all, is missed', async () => {
    const { directory, one } = stoppedGateway();
    cpSync(one, `${one}-earlier`, { recursive: true });
    const journal = openJournal(one);
    journal.append(sampleRecord(9));
    journal.close();
    note(directory, 1, one, 'is closed');
    expect(await verifyGateway(directory)).toMatchObject({ ok: true });
    rmSync(one, { recursive: true });
    renameSync(`${one}-earlier`, one);
    expect(await verifyGateway(directory)).toMatchObject({ ok: false, kind: 'truncated', seq: 9 });
  });

  test('one that was written anew, with a chain and a head that agree, is not the one that was noted', async () => {
    const { directory, one } = stoppedGateway();
    rmSync(one, { recursive: true });
    const forger = openJournal(one);
    for (let i = 1; i <= 8; i++) forger.append({ ...sampleRecord(i), status: 403 });
    forger.close();
    expect(await verifyGateway(directory)).toMatchObject({ ok: false, kind: 'edited', seq: 8 });
  });

  test('one that is edited is broken, and its file is named', async () => {
    const { directory, two } = stoppedGateway();
    writeFileSync(fileOf(two), readFileSync(fileOf(two), 'utf8').replace('/v1/things/3', '/v1/things/4'));
    expect(await verifyGateway(directory)).toMatchObject({ ok: false, file: 'worker-2/journal-000001.jsonl', seq: 3 });
  });

  test('a journal of another number of workers goes when all of it is old, by a note, and not sooner', async () => {
    const { directory, two } = stoppedGateway();
    const journal = openJournal(directory);
    const dayMs = 86_400_000;
    const options = { workers: 1, keepMs: 9 * dayMs, log: quiet };
    letGoOfLeftJournals(journal, options, Date.now() + 8 * dayMs);
    expect(listJournalFiles(two)).toHaveLength(1);
    letGoOfLeftJournals(journal, options, Date.now() + 10 * dayMs);
    expect(listJournalFiles(two)).toHaveLength(0);
    journal.close();
    expect(await verifyGateway(directory)).toMatchObject({ ok: true, workers: [{ worker: 1 }] });
  });

  test('merged, each is a chain of its own', async () => {
    const { directory } = stoppedGateway();
    const { code, out } = await runWith(['audit', 'merge', `here=${directory}`]);
    expect(code).toBe(0);
    const [first] = out.split('\n');
    expect(JSON.parse(first!)).toEqual({ merged: ['here', 'here-worker-1', 'here-worker-2'] });
  });
});

describe('two workers', () => {
  let ground: WorkersGround;

  beforeAll(async () => {
    ground = await startWorkersGround();
    await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
  }, 60_000);

  afterAll(() => ground.remove());

  test('one whose journal does not hold together serves nothing, the other does', { timeout: 90_000 }, async () => {
    const directory = `${ground.command.home}/state/journal`;
    const wires = await Promise.all(Array.from({ length: 8 }, () => ground.open()));
    expect(await Promise.all(wires.map((wire) => ask(wire)))).toEqual(wires.map(() => 200));
    ground.gateway.kill('SIGTERM');
    expect(await ground.gateway.ended).toBe(0);
    const served = ground.journal().filter(({ method }) => method === 'GET');
    expect([served.length, new Set(served.map(servedBy)).size]).toEqual([8, 2]);
    expect(await verifyGateway(directory)).toMatchObject({ ok: true, workers: [{ worker: 1 }, { worker: 2 }] });
    // Its end is cut off and its head says so.
    const one = workerJournal(directory, 1);
    writeFileSync(headPath(one), formatHead({ seq: 999, hash: 'a'.repeat(64), oldest: 1 }));
    ground.gateway = await upWithWorkers(ground.command);
    const again = await Promise.all(Array.from({ length: 8 }, () => ground.open().catch(() => null)));
    const open = again.flatMap((wire) => wire ?? []);
    expect(open.length).toBeGreaterThan(0);
    // CONNECT is not granted either where nothing can be written down.
    expect(open.length).toBeLessThan(8);
    expect(await Promise.all(open.map((wire) => ask(wire)))).toEqual(open.map(() => 200));
    const health = await eventually(async () => {
      const { ready, controls } = (await ground.admin('GET', '/internal/health')).json<{
        ready: boolean;
        controls: { name: string; detail: string }[];
      }>();
      return ready ? undefined : controls.find(({ name }) => name === 'journal')?.detail;
    }, 'it is said');
    expect(health).toContain(`${one} does not hold together`);
    for (const { socket } of [...wires, ...open]) socket.destroy();
  });
});
