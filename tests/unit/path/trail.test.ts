import { describe, expect, test } from 'vitest';
import { Trail } from '../../../src/path/trail.ts';

describe('a trail', () => {
  test('keeps every stage with its outcome, in order', () => {
    const trail = new Trail(performance.now());
    trail.mark('accept', 'ok');
    trail.mark('identify', 'sandbox.unknown');
    expect(trail.steps.map(([stage, , outcome]) => [stage, outcome])).toEqual([
      ['accept', 'ok'],
      ['identify', 'sandbox.unknown'],
    ]);
    for (const [, ms] of trail.steps) expect(ms).toBeGreaterThanOrEqual(0);
  });

  test('gives back what the flow held once, however often it ends', () => {
    const trail = new Trail(0);
    let given = 0;
    trail.release = () => {
      given++;
    };
    trail.end();
    trail.end();
    expect(given).toBe(1);
  });
});
