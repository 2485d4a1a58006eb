import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../../src/kit/fifo.ts';

test('gives out what an array would, whatever is done in whatever order', () => {
  const step = fc.oneof(fc.integer(), fc.constant('shift' as const), fc.constant('replace' as const));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 2500 }), (steps, begin) => {
      const fifo = new Fifo<number>();
      const array: number[] = Array.from({ length: begin }, (_, n) => n);
      fifo.push(...array);
      // Past the places that may stand empty.
      expect(Array.from({ length: begin - 1 }, () => fifo.shift())).toEqual(array.splice(0, begin - 1));
      for (const one of steps) {
        if (one === 'shift') expect(fifo.shift()).toBe(array.shift());
        else if (one === 'replace') {
          fifo.replaceFirst(-1);
          if (array.length > 0) array[0] = -1;
        } else {
          fifo.push(one);
          array.push(one);
        }
        expect([fifo.length, fifo.first]).toEqual([array.length, array[0]]);
      }
      fifo.clear();
      expect([fifo.length, fifo.first, fifo.shift()]).toEqual([0, undefined, undefined]);
    }),
    { numRuns: 12, seed: 8 },
  );
});
