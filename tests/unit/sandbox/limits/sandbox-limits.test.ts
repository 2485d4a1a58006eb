import { describe, expect, test } from 'vitest';
import { memoryInWords, timeInWords } from '../../../../src/kit/text/limit-text.ts';
import { readLimits } from '../../../../src/sandbox/limits/sandbox-limits.ts';

describe('limits as they are asked for', () => {
  test.each([
    [{ memory: '4g' }, { memory: 4 * 1024 ** 3 }],
    [{ memory: '512M' }, { memory: 512 * 1024 ** 2 }],
    [{ memory: '65536kb' }, { memory: 64 * 1024 ** 2 }],
    [{ cpus: '0.5' }, { cpus: 0.5 }],
    [{ cpus: 2 }, { cpus: 2 }],
    [{ pids: '512' }, { pids: 512 }],
    [{ time: '90m' }, { time: 5_400_000 }],
    [{}, {}],
  ])('%j', (asked, meant) => expect(readLimits(asked)).toEqual(meant));

  test.each([
    { memory: '4' },
    { memory: '0g' },
    { memory: '63m' },
    { memory: '-1g' },
    { memory: '1e3g' },
    { memory: '999999999t' },
    { cpus: '0' },
    { cpus: '-1' },
    { cpus: 'all' },
    { pids: '15' },
    { pids: '1.5' },
    { pids: '99999999' },
    { time: '2' },
    { time: '0s' },
    { time: '25d' },
    { time: '2h\n' },
  ])('%j is none, and what would be is said', (asked) => {
    expect(() => readLimits(asked)).toThrow(/is not a limit$/);
  });

  test('they are told as they were asked for', () => {
    expect(['4g', '1536m', '64m'].map((text) => memoryInWords(readLimits({ memory: text }).memory!))).toEqual([
      '4g',
      '1536m',
      '64m',
    ]);
    expect(['2h', '90m', '45s', '1d'].map((text) => timeInWords(readLimits({ time: text }).time!))).toEqual([
      '2h',
      '90m',
      '45s',
      '1d',
    ]);
  });
});
