// Attack: kill the gateway in the middle of its work, again and again, so that records are lost or the journal no
// longer verifies. A real child process appends as fast as it can and is ended with SIGKILL.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/stages/audit/journal/verify.ts';
import { openJournal, sampleRecord } from '../../unit/stages/audit/journal/journal-fixture.ts';
import { copyRooms } from '../../unit/stages/audit/plain-copy.ts';

const root = mkdtempSync(join(tmpdir(), 'sallyport-kill-'));
const directory = join(root, 'state', 'journal');

beforeAll(() => {
  copyRooms(root, ['stages/audit', 'kit', 'path']);
  // After each turn the child says which record it has seen written.
  writeFileSync(
    join(root, 'append.js'),
    `import { writeSync } from 'node:fs';
import { Journal } from './src/stages/audit/journal/journal.js';
const log = { info() {}, warn() {}, error: (message) => writeSync(1, 'error ' + message + '\\n') };
const journal = new Journal({ directory: process.argv[2], maxFileBytes: 200_000, keepFiles: 1000, log });
const record = ${JSON.stringify(sampleRecord(1))};
const turn = () => {
  if (journal.queued === 0) writeSync(1, journal.head.seq + '\\n');
  for (let i = 0; i < 7; i++) journal.append(record);
  setImmediate(turn);
};
turn();
`,
  );
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

async function appendUntilKilled(forMs: number): Promise<{ lastSeen: number; output: string }> {
  const child: ChildProcess = spawn(process.execPath, [join(root, 'append.js'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise((done) => child.once('close', done));
  for (let waited = 0; output === '' && waited < 10_000; waited += 10) await sleep(10);
  await sleep(forMs);
  child.kill('SIGKILL');
  await ended;
  const whole = output.slice(0, output.lastIndexOf('\n')).split('\n');
  return { lastSeen: Number(whole.at(-1)), output };
}

test('after every kill the chain holds, goes on, and has all that was written before the last turn', async () => {
  let before = 0;
  for (const forMs of [30, 70, 110, 45]) {
    const { lastSeen, output } = await appendUntilKilled(forMs);
    expect(output).not.toContain('error');
    expect(lastSeen).toBeGreaterThan(before);
    const result = await verifyJournal(directory);
    expect(result).toMatchObject({ ok: true, firstSeq: 1 });
    const lastSeq = result.ok ? result.lastSeq : 0;
    expect(lastSeq).toBeGreaterThanOrEqual(lastSeen);
    before = lastSeq;
  }
  const journal = openJournal(directory);
  expect(journal.state).toEqual({ kind: 'ok' });
  journal.append(sampleRecord(1));
  journal.close();
  expect(await verifyJournal(directory)).toMatchObject({ ok: true, aheadOfHead: 0, tornBytes: 0 });
});
