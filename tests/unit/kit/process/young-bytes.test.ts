import { GCProfiler } from 'node:v8';
import { expect, test } from 'vitest';
import { exposedGc, noteRead } from '../../../../src/kit/process/young-bytes.ts';

/** How often young objects were collected while this ran. */
function scavengesOf(act: () => void): number {
  const profiler = new GCProfiler();
  profiler.start();
  act();
  return profiler.stop().statistics.filter(({ gcType }) => gcType === 'Scavenge').length;
}

test('young objects are collected after every eight megabytes that were read, and not for fewer', () => {
  noteRead(8 * 1024 ** 2);
  expect(scavengesOf(() => noteRead(1024 ** 2))).toBe(0);
  const reads = scavengesOf(() => {
    for (let i = 0; i < 1024; i++) noteRead(64 * 1024);
  });
  expect(reads).toBeGreaterThanOrEqual(8);
  expect(reads).toBeLessThanOrEqual(10);
});

test("V8's collector is had without leaving it to others", () => {
  expect(exposedGc()).toBeTypeOf('function');
  expect(Reflect.get(globalThis, 'gc')).toBeUndefined();
});
