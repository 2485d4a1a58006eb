import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { JournalEvidence } from '../../../../src/prove/redteam/run-attacks.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-evidence-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function chain(count: number): string[] {
  const lines: string[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const prev = createHash('sha256')
      .update(lines.at(-1) ?? '')
      .digest('hex');
    lines.push(JSON.stringify({ seq, prev, host: 'a.example', path: '/', verdict: 'refused', code: 'x' }));
  }
  return lines;
}

const write = (name: string, lines: readonly string[], end = '\n') =>
  writeFileSync(join(folder, name), `${lines.join('\n')}${end}`);

test('records are read across files, from a number on, without the line that is being written', () => {
  const lines = chain(5);
  write('000001.jsonl', lines.slice(0, 2));
  write('000002.jsonl', lines.slice(2), '');
  const evidence = new JournalEvidence(folder);
  expect(evidence.after(1).map(({ seq, code }) => [seq, code])).toEqual([
    [2, 'x'],
    [3, 'x'],
    [4, 'x'],
  ]);
  expect(evidence.chainBreak()).toBeNull();
});

test('a record that was changed, taken out or is no record breaks the chain', () => {
  const lines = chain(4);
  const evidence = new JournalEvidence(folder);
  write('000001.jsonl', [lines[0]!, lines[1]!.replace('refused', 'allowed'), lines[2]!]);
  expect(evidence.chainBreak()).toMatch(/record 3 does not follow/);
  write('000001.jsonl', [lines[0]!, lines[2]!]);
  expect(evidence.chainBreak()).toMatch(/record 3 does not follow/);
  write('000001.jsonl', [lines[0]!, 'nonsense']);
  expect(evidence.chainBreak()).toMatch(/record 2 cannot be read/);
});
