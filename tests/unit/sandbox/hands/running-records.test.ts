import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { checkName, findRecord, noteRunning, readRunning } from '../../../../src/sandbox/hands/running-records.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-running-'));
  chmodSync(state, 0o700);
});

const facts = {
  id: 'one',
  name: null,
  launcher: 'bubblewrap',
  command: ['true'],
  workingDirectory: '/',
  background: false,
};

describe('the name of a sandbox', () => {
  test.each(['web', 'A.b-c_9', 'x'.repeat(63)])('%s is one', (name) => expect(checkName(name)).toBe(name));
  test.each(['', '../x', '.x', '-x', 'a/b', 'a b', 'a\u001b[2J', 'a\nb', 'a\0', 'é', 'x'.repeat(64)])(
    '%j is none',
    (name) => {
      expect(() => checkName(name)).toThrow('cannot be the name of a sandbox');
      expect(() => noteRunning(state, { ...facts, name })).toThrow('cannot be the name of a sandbox');
      expect(readRunning(state)).toEqual([]);
    },
  );

  test('is that of one sandbox that runs, and free again when that has ended', () => {
    const first = noteRunning(state, { ...facts, name: 'web' });
    expect(() => noteRunning(state, { ...facts, id: 'two', name: 'web' })).toThrow(
      'a sandbox named web runs already (one)',
    );
    // Nor the id of another, by which it is found as well.
    expect(() => noteRunning(state, { ...facts, id: 'two', name: 'one' })).toThrow('runs already');
    first.end(3);
    expect(findRecord(state, 'web')).toMatchObject({ id: 'one', state: 'ended', exitCode: 3 });
    noteRunning(state, { ...facts, id: 'two', name: 'web' });
    expect(findRecord(state, 'web')).toMatchObject({ id: 'two', state: 'starting' });
    expect(readRunning(state, { ended: true })).toHaveLength(1);
  });
});

test('one without a name leaves nothing behind; only its user can read what there is', () => {
  const noted = noteRunning(state, facts);
  noted.change({ state: 'running' });
  expect(readRunning(state)).toMatchObject([{ id: 'one', state: 'running' }]);
  noted.end(0);
  expect(readdirSync(join(state, 'running'))).toEqual([]);
});

test('one whose launcher was killed does not run any more', () => {
  noteRunning(state, { ...facts, name: 'web' });
  const [file] = readdirSync(join(state, 'running')) as [string];
  const place = join(state, 'running', file);
  writeFileSync(place, JSON.stringify({ ...JSON.parse(readFileSync(place, 'utf8')), birth: '1' }));
  expect(readRunning(state)).toEqual([]);
  expect(findRecord(state, 'web')).toMatchObject({ state: 'ended', exitCode: null });
  noteRunning(state, { ...facts, name: 'web' });
});

test('a file that is no record is passed over', () => {
  noteRunning(state, facts);
  writeFileSync(join(state, 'running', 'x.json'), '{');
  expect(readRunning(state)).toHaveLength(1);
});
