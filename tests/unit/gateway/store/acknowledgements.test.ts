import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Acknowledgements } from '../../../../src/gateway/store/acknowledgements.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const gateways = new Map([
  ['a#1', 'a'],
  ['b#1', 'b'],
]);

/** Names of those that have not confirmed; null: it is still waited. */
function waited(acknowledgements: Acknowledgements, version = 7): () => string[] | null {
  let outcome: string[] | null = null;
  void acknowledgements
    .listenFor(version)
    .allOf(gateways)
    .then((missing) => {
      outcome = missing;
    });
  return () => outcome;
}

describe('a change is confirmed by every live gateway, or those that did not within a second are named', () => {
  test('when all have, at once', async () => {
    const acknowledgements = new Acknowledgements();
    const missing = waited(acknowledgements);
    acknowledgements.heard(7, 'a#1');
    await vi.advanceTimersByTimeAsync(0);
    expect(missing()).toBeNull();
    acknowledgements.heard(7, 'b#1');
    await vi.advanceTimersByTimeAsync(0);
    expect(missing()).toEqual([]);
  });

  test('one that is silent is waited for a second, no less and no more, and named', async () => {
    const acknowledgements = new Acknowledgements();
    const missing = waited(acknowledgements);
    acknowledgements.heard(7, 'a#1');
    await vi.advanceTimersByTimeAsync(999);
    expect(missing()).toBeNull();
    await vi.advanceTimersByTimeAsync(2);
    expect(missing()).toEqual(['b']);
  });

  test('what is said of another change, or by somebody else, is no confirmation', async () => {
    const acknowledgements = new Acknowledgements();
    const missing = waited(acknowledgements);
    for (const instance of ['a#1', 'b#1']) acknowledgements.heard(6, instance);
    for (const instance of ['a#2', 'b']) acknowledgements.heard(7, instance);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(missing()).toEqual(['a', 'b']);
  });
});
