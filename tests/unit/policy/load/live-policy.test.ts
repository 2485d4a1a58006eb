import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LivePolicy } from '../../../../src/policy/load/live-policy.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';

let folder: string;
let file: string;
let live: LivePolicy;
let inForce: number[];

const document = (rules: number): string =>
  `version: 1\nallow:\n${Array.from({ length: rules }, (_, i) => `  - host: h${i}.example\n`).join('')}`;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-live-'));
  file = join(folder, 'sallyport.yaml');
  writeFileSync(file, document(1));
  live = await LivePolicy.open(file, thisMachine());
  inForce = [];
  live.onChange(({ allow }) => inForce.push(allow.length));
});

afterEach(() => {
  vi.useRealTimers();
  live.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('reloads that are asked for at once', () => {
  test('run one after the other, and those that wait share one', async () => {
    const first = live.reload();
    writeFileSync(file, document(2));
    await Promise.all([first, live.reload(), live.reload(), live.reload()]);
    expect(live.current.allow).toHaveLength(2);
    expect(inForce.length).toBeLessThanOrEqual(2);
  });

  test('a failed one does not stop the next', async () => {
    writeFileSync(file, 'not: valid');
    await expect(live.reload()).rejects.toThrow();
    writeFileSync(file, document(3));
    await live.reload();
    expect(live.current.allow).toHaveLength(3);
    expect(live.rejected).toBeNull();
  });
});

test('a file that is written while it is read is read again, and the first reading is never in force', async () => {
  const looked: number[] = [];
  live = await LivePolicy.open(file, thisMachine(), ({ allow }) => {
    looked.push(allow.length);
    // Somebody is quicker than the reader.
    if (allow.length === 2) writeFileSync(file, document(4));
  });
  live.onChange(({ allow }) => inForce.push(allow.length));
  writeFileSync(file, document(2));
  await live.reload();
  expect(looked).toEqual([1, 2, 4]);
  expect(inForce).toEqual([4]);
});

describe('a file that changes while nobody says so', () => {
  test('is not read while somebody writes it, although its first half is valid', async () => {
    vi.useFakeTimers();
    const reported: (Error | null)[] = [];
    live.watch((error) => reported.push(error));
    writeFileSync(file, document(2));
    vi.advanceTimersByTime(1_000);
    writeFileSync(file, document(5));
    vi.advanceTimersByTime(100);
    vi.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(inForce).toEqual([]);
    expect(reported).toEqual([]);
  });

  test('is read when it has been left alone for a moment', async () => {
    vi.useFakeTimers();
    const reported = new Promise<Error | null>((resolve) => live.watch(resolve));
    writeFileSync(file, document(5));
    vi.advanceTimersByTime(1_100);
    vi.useRealTimers();
    expect(await reported).toBeNull();
    expect(inForce).toEqual([5]);
  });
});

describe('a file that must not be followed', () => {
  const doubt = new Error('it may be somebody else’s');
  let isInDoubt: boolean;

  beforeEach(async () => {
    isInDoubt = true;
    live = await LivePolicy.open(
      file,
      thisMachine(),
      () => {},
      () => {
        if (isInDoubt) throw doubt;
      },
    );
    live.onChange(({ allow }) => inForce.push(allow.length));
  });

  test('is not followed, whoever asks, and the reason is known', async () => {
    writeFileSync(file, document(2));
    await expect(live.reload()).rejects.toBe(doubt);
    expect(() => live.checkMayFollow()).toThrow(doubt);
    expect([live.rejected, live.current.allow.length, inForce]).toEqual([doubt, 1, []]);
  });

  test('is not followed when the doubt comes up while it is read', async () => {
    isInDoubt = false;
    live = await LivePolicy.open(
      file,
      thisMachine(),
      ({ allow }) => {
        isInDoubt = allow.length > 1;
      },
      () => {
        if (isInDoubt) throw doubt;
      },
    );
    writeFileSync(file, document(2));
    await expect(live.reload()).rejects.toBe(doubt);
    expect(live.current.allow).toHaveLength(1);
  });

  test('is followed by itself when the doubt is gone, though it has not changed since', async () => {
    writeFileSync(file, document(3));
    await expect(live.reload()).rejects.toBe(doubt);
    vi.useFakeTimers();
    const reported = new Promise<Error | null>((resolve) => live.watch(resolve));
    vi.advanceTimersByTime(2_100);
    isInDoubt = false;
    vi.advanceTimersByTime(1_100);
    vi.useRealTimers();
    expect(await reported).toBeNull();
    expect([live.rejected, inForce]).toEqual([null, [3]]);
  });
});
