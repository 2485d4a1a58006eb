import { describe, expect, test } from 'vitest';
import { waitAtMost } from '../../../src/kit/wait-at-most.ts';

const never = new Promise<string>(() => {});
const tooLate = (): never => {
  throw new Error('too late');
};

describe('what is waited for, but not for ever', () => {
  test('is what comes of it, in time', async () => {
    await expect(waitAtMost(Promise.resolve('done'), 60_000, tooLate)).resolves.toBe('done');
    await expect(waitAtMost(Promise.reject(new Error('it failed')), 60_000, tooLate)).rejects.toThrow('it failed');
  });

  test('is what stands for it when the time is over', async () => {
    await expect(waitAtMost(never, 1, () => 'nothing')).resolves.toBe('nothing');
    await expect(waitAtMost(never, 1, tooLate)).rejects.toThrow('too late');
  });

  test('a failure that comes too late is nobody’s', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    const late = new Promise<string>((_resolve, reject) => setTimeout(reject, 10, new Error('it failed, late')));
    await expect(waitAtMost(late, 1, () => 'nothing')).resolves.toBe('nothing');
    await new Promise((resolve) => setTimeout(resolve, 30));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});
