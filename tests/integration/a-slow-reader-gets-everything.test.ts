// What a command prints goes through a pipe to somebody who takes it slowly: a compressor, a far machine, a pager.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildCommand } from '../support/spawn-gateway.ts';
import { fillJournal } from '../unit/stages/audit/journal/journal-fixture.ts';

const records = 20_000;
/** Longer than a command that is done waits for what still holds it. */
const silentSeconds = 6;

test('a merged journal arrives whole', async () => {
  const command = buildCommand({});
  onTestFinished(() => command.remove());
  const journal = join(command.home, 'journal');
  fillJournal(journal, records, { maxFileBytes: 1 << 24 });
  const slowly = `"$@" | { sleep ${silentSeconds}; cat; }`;
  const { output, ended } = command.start(['audit', 'merge', `a=${journal}`], ['sh', '-c', slowly, 'sh']);
  expect(await ended).toBe(0);
  const lines = output().trimEnd().split('\n');
  expect(lines).toHaveLength(records + 2);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ gateway: 'a', end: records });
}, 60_000);

test('a disk that takes no more of it is named, and the command fails', async () => {
  const command = buildCommand({});
  onTestFinished(() => command.remove());
  fillJournal(join(command.home, 'journal'), 5);
  const journal = `a=${join(command.home, 'journal')}`;
  const { output, ended } = command.start(['audit', 'merge', journal], ['sh', '-c', '"$@" > /dev/full', 'sh']);
  expect(await ended).toBe(1);
  expect(output()).toContain('could not be written: ENOSPC');
}, 60_000);
