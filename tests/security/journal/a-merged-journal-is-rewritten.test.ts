// Somebody changes the merged journal of two gateways: every change is seen, and the gateway it belongs to is named.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Journal } from '../../../src/stages/audit/journal/journal.ts';
import { mergeJournals, verifyEach } from '../../../src/stages/audit/journal/merge.ts';
import type { Intact } from '../../../src/stages/audit/journal/verify.ts';
import { verifyMerged } from '../../../src/stages/audit/journal/verify-merged.ts';
import { quiet, sampleRecord } from '../../unit/stages/audit/journal/journal-fixture.ts';

let whole: string[];

/** 1: names. 2 to 9: the records of `a` and `b`. 10 and 11: the ends. */
beforeAll(async () => {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-merged-'));
  const journals = ['a', 'b'].map((name) => ({ name, directory: join(root, name) }));
  for (const { name, directory } of journals) {
    const journal = new Journal({ directory, maxFileBytes: 1 << 20, keepFiles: 20, log: quiet });
    for (let n = 1; n <= 4; n++) journal.append({ ...sampleRecord(n), id: `${name}-${n}` });
    journal.close();
  }
  const verified = (await verifyEach(journals)).map((one) => ({ ...one, found: one.found as Intact }));
  whole = [];
  for await (const line of mergeJournals(verified)) whole.push(line);
  rmSync(root, { recursive: true, force: true });
});

async function verifyLines(lines: readonly string[], end = '\n') {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-merged-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, 'merged.jsonl');
  writeFileSync(path, `${lines.join('\n')}${end}`);
  return verifyMerged(path);
}

const lineOf = (gateway: string, seq: number): number =>
  whole.findIndex((line) => line.startsWith(`{"gateway":"${gateway}","seq":${seq},`));

describe('a merged journal cannot be changed unseen', () => {
  test('left alone it holds', async () => {
    expect(whole).toHaveLength(11);
    expect(await verifyLines(whole)).toMatchObject({ ok: true, records: 8 });
  });

  const changes: [string, string, (lines: string[]) => string[]][] = [
    [
      'a record is edited',
      'a',
      (lines) => lines.with(lineOf('a', 2), lines[lineOf('a', 2)]!.replace('"GET"', '"PUT"')),
    ],
    [
      'the last record is edited',
      'b',
      (lines) => lines.with(lineOf('b', 4), lines[lineOf('b', 4)]!.replace('"GET"', '"PUT"')),
    ],
    ['a record is taken out', 'a', (lines) => lines.toSpliced(lineOf('a', 3), 1)],
    ['the first record is taken out', 'b', (lines) => lines.toSpliced(lineOf('b', 1), 1)],
    ['the last record is taken out', 'a', (lines) => lines.toSpliced(lineOf('a', 4), 1)],
    ['a record is there twice', 'a', (lines) => lines.toSpliced(lineOf('a', 2), 0, lines[lineOf('a', 2)]!)],
    [
      'a record is given to the other gateway',
      'a',
      (lines) => lines.with(lineOf('a', 2), lines[lineOf('a', 2)]!.replace('"a"', '"b"')),
    ],
    [
      'a record is moved before one of the other gateway',
      'a',
      (lines) => lines.toSpliced(lineOf('b', 1), 1).toSpliced(lineOf('a', 4), 0, lines[lineOf('b', 1)]!),
    ],
    [
      'the records of one gateway are moved before those of the other',
      'a',
      (lines) => [lines[0]!, ...lines.slice(5, 9), ...lines.slice(1, 5), ...lines.slice(9)],
    ],
    ['the ends are swapped', 'a', (lines) => [...lines.slice(0, 9), lines[10]!, lines[9]!]],
    [
      'an end comes before a record of the other gateway',
      'b',
      (lines) => lines.toSpliced(9, 1).toSpliced(8, 0, lines[9]!),
    ],
    [
      'one gateway is put in the place of the other',
      'b',
      (lines) => {
        const own = lines.slice(1, 5);
        const ofB = (line: string): string => line.replace('"gateway":"a"', '"gateway":"b"');
        return [lines[0]!, ...own, ...own.map(ofB), lines[9]!, ofB(lines[9]!)];
      },
    ],
    ['an end is taken out', 'b', (lines) => lines.slice(0, -1)],
    [
      'an end is moved before a record',
      'a',
      (lines) => [...lines.slice(0, 1), lines[9]!, ...lines.slice(1, 9), lines[10]!],
    ],
    ['a third gateway is made up', 'c', (lines) => [...lines, lines[9]!.replace('"a"', '"c"')]],
  ];
  test.each(changes)('%s', async (_what, gateway, change) => {
    // Both are at the same second, so that the two journals lie one after the other.
    const found = await verifyLines(change([...whole]));
    expect(found.ok).toBe(false);
    if (!found.ok) expect(found.gateway).toBe(gateway);
  });

  test('one gateway is taken out with all it wrote: the first line still names it', async () => {
    const without = whole.filter((line, i) => i === 0 || !line.startsWith('{"gateway":"b"'));
    expect(await verifyLines(without)).toMatchObject({ ok: false, gateway: 'b' });
  });

  test.each([
    ['no gateway', ['{"merged":[]}']],
    ['a gateway twice', ['{"merged":["a","a"]}']],
    ['more than the gateways', ['{"merged":["a","b"],"note":"complete"}']],
  ])('the first line names %s', async (_what, [first]) => {
    const rest = first!.includes('[]')
      ? []
      : whole.slice(1).filter((line) => first!.includes('"b"') || !line.includes('"gateway":"b"'));
    expect(await verifyLines([first!, ...rest])).toMatchObject({ ok: false, line: 1 });
  });

  test('the file is cut in the middle of a line', async () => {
    expect(await verifyLines(whole, '').then(({ ok }) => ok)).toBe(false);
  });
});
