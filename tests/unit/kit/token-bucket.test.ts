import { expect, test } from 'vitest';
import { TokenBucket } from '../../../src/kit/token-bucket.ts';

const rate = { burst: 10, perSecond: 5 };

const passing = (bucket: TokenBucket, times: number, nowMs: number): number =>
  Array.from({ length: times }, () => bucket.take(1, nowMs)).filter(Boolean).length;

test('so much at once, and so much a second after it', () => {
  const bucket = new TokenBucket(rate, 0);
  expect(passing(bucket, 100, 0)).toBe(10);
  expect(passing(bucket, 100, 1000)).toBe(5);
  expect(passing(bucket, 100, 60_000)).toBe(10);
});

test('what is refused is not charged: more than there is leaves what there is', () => {
  const bucket = new TokenBucket(rate, 0);
  expect(bucket.take(11, 0)).toBe(false);
  expect(bucket.take(10, 0)).toBe(true);
});

test('it is full again when all that was taken has come back, and not before', () => {
  const bucket = new TokenBucket(rate, 0);
  expect(bucket.isFull(0)).toBe(true);
  bucket.take(5, 0);
  expect(bucket.isFull(999)).toBe(false);
  expect(bucket.isFull(1000)).toBe(true);
});
