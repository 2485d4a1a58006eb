// The runner of a path: every stage leaves a step in the trail, also the one that ends it, and none runs after that.
import { describe, expect, test } from 'vitest';
import type { Arrived } from '../../../src/path/flow.ts';
import { Refusal } from '../../../src/path/refusal.ts';
import { type Stage, startWith } from '../../../src/path/stage.ts';
import { Trail } from '../../../src/path/trail.ts';

type Step = Stage<Arrived, Arrived>;

const atOnce = (name: string): Step => ({ name, run: (flow) => flow });
const later = (name: string): Step => ({ name, run: async (flow) => flow });
const failing = (name: string, error: Error): Step => ({
  name,
  run: () => {
    throw error;
  },
});
const failingLater = (name: string, error: Error): Step => ({ name, run: () => Promise.reject(error) });

function arrived(): Arrived {
  return { trail: new Trail(performance.now()) } as Arrived;
}

function stepsOf({ trail }: Arrived): string[] {
  return trail.steps.map(([stage, , outcome]) => `${stage} ${outcome}`);
}

describe('a path', () => {
  test('runs its stages in their order, on the same flow, and without a promise while none of them makes one', () => {
    const flow = arrived();
    const path = startWith(atOnce('first')).next(atOnce('second')).next(atOnce('third'));
    expect(path.run(flow)).toBe(flow);
    expect(stepsOf(flow)).toEqual(['first ok', 'second ok', 'third ok']);
  });

  test('keeps the order where a stage takes time', async () => {
    const flow = arrived();
    const path = startWith(atOnce('first')).next(later('second')).next(atOnce('third'));
    await expect(path.run(flow)).resolves.toBe(flow);
    expect(stepsOf(flow)).toEqual(['first ok', 'second ok', 'third ok']);
  });

  const refusal = new Refusal('domain.not-allowed', 'no');
  test.each([
    ['a refusal', failing('second', refusal), 'second domain.not-allowed'],
    ['a late refusal', failingLater('second', refusal), 'second domain.not-allowed'],
    ['a fault', failing('second', new Error('broken')), 'second internal.error'],
    ['a late fault', failingLater('second', new Error('broken')), 'second internal.error'],
  ])('ends with %s, says so in the trail, and runs nothing after it', async (_what, second, step) => {
    const flow = arrived();
    const path = startWith(atOnce('first')).next(second).next(atOnce('third'));
    await expect(async () => path.run(flow)).rejects.toThrow();
    expect(stepsOf(flow)).toEqual(['first ok', step]);
  });

  test('may be begun again: a longer path leaves the shorter one as it was', () => {
    const short = startWith(atOnce('first'));
    short.next(atOnce('second'));
    const flow = arrived();
    short.run(flow);
    expect(stepsOf(flow)).toEqual(['first ok']);
  });
});
