import { describe, expect, test } from 'vitest';
import { OverBudget, WorkBudget } from '../../../../../src/protocols/git/objects/work-budget.ts';

describe('a budget', () => {
  test('is charged before the thing is done: what does not fit changes nothing', () => {
    const budget = new WorkBudget({ maxHeldBytes: 100 });
    budget.hold(60);
    expect(() => budget.hold(41)).toThrow(OverBudget);
    expect(budget.heldBytes).toBe(60);
    budget.hold(40);
    budget.release(100);
    budget.hold(100);
  });

  test('ends the work where it is spent', () => {
    const budget = new WorkBudget({ maxWorkBytes: 100 });
    budget.spend(100);
    expect(() => budget.spend(1)).toThrow('more than 100 bytes of work');
  });

  test('is shared by its parts, and a part gives back what it held', () => {
    const whole = new WorkBudget({ maxHeldBytes: 100, maxWorkBytes: 100 });
    const [one, other] = [whole.part(), whole.part()];
    one.hold(70);
    expect(() => other.hold(31)).toThrow(OverBudget);
    expect([one.heldBytes, other.heldBytes, whole.heldBytes]).toEqual([70, 0, 70]);
    one.spend(60);
    expect(() => other.spend(41)).toThrow(OverBudget);
    one.close();
    one.close();
    expect(whole.heldBytes).toBe(0);
    other.hold(100);
  });

  test('never gives back more than was held, and holds nothing once it is closed', () => {
    const whole = new WorkBudget();
    whole.hold(10);
    const part = whole.part();
    part.hold(5);
    part.release(50);
    expect(whole.heldBytes).toBe(10);
    part.close();
    expect(() => part.hold(1)).toThrow('over');
  });

  test('counts the turns of its parts together, however many there are', () => {
    const whole = new WorkBudget();
    for (let n = 0; n < 4; n++) whole.part().spend(1024 ** 2 / 2);
    expect([whole.isTurnDue, whole.part().isTurnDue, whole.part().part().isTurnDue]).toEqual([true, true, true]);
  });

  test('many that work at once go on one after the other, with a turn of the others between', async () => {
    const order: string[] = [];
    const work = async (name: string): Promise<void> => {
      const budget = new WorkBudget();
      for (let n = 0; n < 3; n++) {
        budget.spend(2 * 1024 ** 2);
        await budget.turn();
        order.push(name);
      }
    };
    const others = async (): Promise<void> => {
      for (let n = 0; n < 9; n++) {
        await new Promise((resolve) => setImmediate(resolve));
        order.push('-');
      }
    };
    await Promise.all([work('a'), work('b'), work('c'), others()]);
    expect(order.join('').replace(/^-|-$/g, '')).toMatch(/^[abc](?:-+[abc]){8}$/);
  });

  test('gives others their turn by what was done, not by how often it was asked', async () => {
    const budget = new WorkBudget();
    let turns = 0;
    const other = setInterval(() => turns++, 0);
    for (let n = 0; n < 100; n++) await budget.turn();
    expect(budget.isTurnDue).toBe(false);
    budget.spend(2 * 1024 ** 2);
    expect(budget.isTurnDue).toBe(true);
    await budget.turn();
    expect(budget.isTurnDue).toBe(false);
    clearInterval(other);
    expect(turns).toBeLessThan(5);
  });
});
