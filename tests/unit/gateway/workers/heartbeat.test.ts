import { afterEach, describe, expect, test } from 'vitest';
import { Heartbeat } from '../../../../src/gateway/workers/heartbeat.ts';

let beat: Heartbeat;
afterEach(() => beat.stop());

/** Beats by hand, on a clock that the test moves. */
function started(ask: () => Promise<unknown>) {
  const clock = { nowMs: 0 };
  beat = new Heartbeat({ now: () => clock.nowMs });
  return {
    /** A second, and the beat at its end. */
    async second(): Promise<void> {
      clock.nowMs += 1_000;
      beat.beat(ask);
      await new Promise((resolve) => setImmediate(resolve));
    },
    pass: (ms: number) => {
      clock.nowMs += ms;
    },
  };
}

describe('a worker asks its gateway whether it is there', () => {
  test('while it answers, it is not silent, however long it has been', async () => {
    const { second } = started(async () => 'here');
    for (let i = 0; i < 60; i++) {
      await second();
      expect(beat.isSilent()).toBe(false);
    }
  });

  test('an answer that is an error is none: after five seconds it is silent, and stays so', async () => {
    let asked = 0;
    const { second } = started(async () => {
      asked++;
      throw new Error('the channel is closed');
    });
    for (let i = 0; i < 6; i++) await second();
    expect(beat.isSilent()).toBe(false);
    for (let i = 0; i < 60; i++) {
      await second();
      expect(beat.isSilent()).toBe(true);
    }
    // It is not asked again: what has failed once is not mended by a second question.
    expect(asked).toBe(1);
  });

  test('one that does not answer is silent after five seconds, and not before', async () => {
    const { second, pass } = started(() => new Promise(() => {}));
    await second();
    pass(5_000);
    expect(beat.isSilent()).toBe(false);
    pass(1);
    expect(beat.isSilent()).toBe(true);
  });

  test('one that answers late is heard again', async () => {
    let answer = (): void => {};
    const { second } = started(
      () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        }),
    );
    for (let i = 0; i < 7; i++) await second();
    expect(beat.isSilent()).toBe(true);
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(beat.isSilent()).toBe(false);
  });
});
