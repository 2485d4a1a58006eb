import { expect, test, vi } from 'vitest';
import { giveBackMemory } from '../../../../src/kit/process/give-back-memory.ts';
import { eventually } from '../../../support/eventually.ts';

function unneeded(): WeakRef<object> {
  return new WeakRef({ some: 'thing' });
}

test('what nobody needs is collected although nothing else would make room, and nobody is given the collector', async () => {
  const one = unneeded();
  // A reference that was made in this turn holds until its end.
  await new Promise(setImmediate);
  giveBackMemory(1, 1);
  await eventually(() => one.deref() === undefined, 'it is gone');
  expect(globalThis.gc).toBeUndefined();
});

test('who ends before does not wait for it', () => {
  vi.useFakeTimers();
  try {
    const leave = giveBackMemory();
    expect(vi.getTimerCount()).toBe(2);
    leave();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
