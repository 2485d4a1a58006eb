import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placesIn } from '../../../../src/kit/files/home.ts';
import { processBirth } from '../../../../src/kit/process/process-birth.ts';
import { judgeState, type StateFacts } from '../../../../src/prove/doctor/judge-state.ts';
import { readState } from '../../../../src/prove/doctor/read-state.ts';

const nowMs = Date.UTC(2026, 5, 1);
const dayMs = 86_400_000;
const healthy: StateFacts = {
  home: '/home/you/state',
  exists: true,
  insecure: null,
  freeBytes: 10 * 1024 ** 3,
  leftovers: [],
  ca: { path: '/home/you/state/ca/ca.pem', fromMs: nowMs - dayMs, untilMs: nowMs + 400 * dayMs },
  nowMs,
  steppedMs: 3,
  newestRecordMs: nowMs - 1000,
};

function find(facts: Partial<StateFacts>, name: string) {
  return judgeState({ ...healthy, ...facts }).find((finding) => finding.name === name)!;
}

describe('the state directory and the clock', () => {
  test('are well when they are', () => {
    expect(judgeState(healthy).map(({ state }) => state)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  test('a directory that others can enter fails with the command that repairs it', () => {
    const insecure = '/home/you/state can be entered by others. Close it: chmod 700 /home/you/state';
    expect(find({ insecure }, 'directory')).toMatchObject({
      state: 'fail',
      says: '/home/you/state can be entered by others',
      fix: 'Close it: chmod 700 /home/you/state',
    });
  });

  test.each([
    [10 * 1024 ** 2, 'fail', '10 MiB'],
    [500 * 1024 ** 2, 'warn', '500 MiB'],
    [5 * 1024 ** 3, 'ok', '5 GiB'],
  ])('%d bytes of room: %s', (freeBytes, state, says) => {
    expect(find({ freeBytes }, 'disk')).toMatchObject({ state, says: expect.stringContaining(says) });
  });

  test('a CA that has ended, or ends soon, is told before clients find out', () => {
    const ca = (days: number) => ({ path: '/s/ca/ca.pem', fromMs: 0, untilMs: nowMs + days * dayMs });
    expect(find({ ca: ca(-1) }, 'ca').state).toBe('fail');
    expect(find({ ca: ca(10) }, 'ca').state).toBe('warn');
    expect(find({ ca: { path: '/s/ca/ca.pem', broken: 'no start line' } }, 'ca').state).toBe('fail');
    expect(find({ ca: null }, 'ca')).toBeUndefined();
  });

  test('a clock that is behind, or was moved, is told', () => {
    const late = { path: '/s/ca/ca.pem', fromMs: nowMs + dayMs, untilMs: nowMs + 400 * dayMs };
    expect(find({ ca: late }, 'clock').state).toBe('fail');
    expect(find({ nowMs: Date.UTC(1970, 0, 2), ca: null }, 'clock').state).toBe('fail');
    expect(find({ newestRecordMs: nowMs + dayMs }, 'clock').state).toBe('warn');
    expect(find({ steppedMs: -90_000 }, 'clock')).toMatchObject({
      state: 'warn',
      says: 'it was moved by -90 s just now',
    });
  });
});

describe('read from the disk', () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'sallyport-doctor-state-'));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test('only a sandbox whose process is gone is left over: journals of what has ended are none', async () => {
    const { sandboxFolders, runsDirectory, gatewaysDirectory } = placesIn(home);
    const living = `${process.pid}.${processBirth(process.pid)}`;
    for (const name of [`sbx_a.${living}`, 'sbx_b.999999999.1'])
      mkdirSync(join(sandboxFolders, name), { recursive: true });
    mkdirSync(join(runsDirectory, '999999999-1', 'journal'), { recursive: true });
    mkdirSync(join(gatewaysDirectory, '2', 'journal'), { recursive: true });
    const { leftovers } = await readState(placesIn(home));
    expect(leftovers).toEqual([join(sandboxFolders, 'sbx_b.999999999.1')]);
  });

  test('a directory open to others is insecure; one that is not there yet is not', async () => {
    chmodSync(home, 0o755);
    expect((await readState(placesIn(home))).insecure).toContain(home);
    chmodSync(home, 0o700);
    expect((await readState(placesIn(home))).insecure).toBeNull();
    const later = await readState(placesIn(join(home, 'not', 'yet')));
    expect(later).toMatchObject({ exists: false, insecure: null, ca: null });
    expect(later.freeBytes).toBeGreaterThan(0);
  });
});
