// A journal in a temporary directory, filled with records, for tests that use or attack it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Journal, type JournalOptions } from '../../../../../src/stages/audit/journal/journal.ts';
import type { RecordBody } from '../../../../../src/stages/audit/journal/record.ts';

export const quiet = { info() {}, warn() {}, error() {} };

export function journalDirectory(): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-journal-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return join(root, 'journal');
}

export function openJournal(directory: string, options: Partial<JournalOptions> = {}): Journal {
  const journal = new Journal({ directory, maxFileBytes: 1 << 20, keepFiles: 20, log: quiet, retryMs: 20, ...options });
  onTestFinished(() => journal.close());
  return journal;
}

/** Records 1 to `count`, about 500 bytes each, in as many files as `maxFileBytes` asks for. */
export function fillJournal(directory: string, count: number, options: Partial<JournalOptions> = {}): void {
  const journal = openJournal(directory, options);
  for (let i = 1; i <= count; i++) {
    journal.append(sampleRecord(i));
    if (i % 5 === 0) journal.flush();
  }
  journal.close();
}

export function sampleRecord(n: number): RecordBody {
  return {
    time: '2026-01-02T03:04:05.678Z',
    id: `req-${n}`,
    sandbox: n % 2 === 0 ? 'sbx-even' : 'sbx-odd',
    door: 'proxy 127.0.0.1:8080',
    from: '127.0.0.1',
    proof: ['ip'],
    method: 'GET',
    scheme: 'https',
    host: 'api.example.com',
    port: 443,
    destination: null,
    path: `/v1/things/${n}`,
    query: null,
    kind: 'http',
    git: null,
    protocol: 'http/1.1',
    verdict: n % 10 === 0 ? 'refused' : 'allowed',
    status: n % 10 === 0 ? 403 : 200,
    code: n % 10 === 0 ? 'path.not-allowed' : null,
    rule: 'allow[0]',
    reason: n % 10 === 0 ? 'this path is not allowed' : null,
    told: n % 10 === 0 ? 'this path is not allowed' : null,
    hint: n % 10 === 0 ? 'Use another path.' : null,
    credential: null,
    upstream: '192.0.2.1:443',
    bytes_in: 0,
    bytes_out: n,
    scrubbed: 0,
    incident: null,
    model: null,
    tokens_in: 0,
    tokens_out: 0,
    cost_usd: 0,
    tokens_estimated: false,
    ms: 1.5,
    trail: [['accept', 0.1, 'ok']],
    cut: null,
    merged: null,
  };
}

export function fileOf(directory: string, number = 1): string {
  return join(directory, `journal-${String(number).padStart(6, '0')}.jsonl`);
}

/** Rewrites the lines of one file, as someone with the disk in hand would. */
export function tamper(directory: string, change: (lines: string[]) => string[], number = 1): void {
  const path = fileOf(directory, number);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${change(lines).join('\n')}\n`);
}

export async function collect<T>(items: AsyncIterable<T>, onItem: () => void = () => {}): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) {
    all.push(item);
    onItem();
  }
  return all;
}
