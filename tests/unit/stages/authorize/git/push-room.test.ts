import { describe, expect, test } from 'vitest';
import { OverBudget } from '../../../../../src/protocols/git/objects/work-budget.ts';
import { PushRoom } from '../../../../../src/stages/authorize/git/push-room.ts';

function room() {
  const clock = { ms: 0 };
  const made = new PushRoom({ maxHeldBytes: 800, shareBytes: 1_000, bytesPerSecond: 10, now: () => clock.ms });
  return { clock, room: made };
}

describe('memory for judging', () => {
  test('one push, all of a sandbox, and all sandboxes have a most', () => {
    const { room: made } = room();
    const [a, b, c] = [made.open('one'), made.open('one'), made.open('other')];
    expect(() => a.hold(301)).toThrow(OverBudget);
    a.hold(300);
    expect(() => b.hold(101)).toThrow('leave no memory');
    b.hold(100);
    c.hold(300);
    const d = made.open('other');
    d.hold(100);
    expect(made.heldBytes).toBe(800);
    expect(() => made.open('third').hold(1)).toThrow('leave no memory');
    a.close();
    made.open('third').hold(300);
    for (const budget of [b, c, d]) budget.close();
    expect(made.heldBytes).toBe(300);
  });
});

describe('work', () => {
  test('what a sandbox has used up it has again after a while, and another has its own', () => {
    const { clock, room: made } = room();
    const push = made.open('one');
    expect(() => push.spend(1_001)).toThrow(OverBudget);
    push.close();
    expect(() => made.open('one')).toThrow(expect.objectContaining({ retryAfterS: 2 }));
    made.open('other').spend(1_000);
    clock.ms = 2_000;
    const again = made.open('one');
    again.spend(10);
    expect(() => again.spend(10)).toThrow(OverBudget);
  });

  test('many sandboxes that pushed once are not remembered for ever', () => {
    const { clock, room: made } = room();
    for (let n = 0; n < 5_000; n++) {
      const push = made.open(`s${n}`);
      push.spend(10);
      push.close();
      clock.ms += 2_000;
    }
    expect(made.heldBytes).toBe(0);
  });
});
