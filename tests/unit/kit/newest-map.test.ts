import { expect, test } from 'vitest';
import { NewestMap } from '../../../src/kit/newest-map.ts';

test('the oldest goes when there is no room; to set one again makes it the newest', () => {
  const map = new NewestMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('to look one up does not make it newer', () => {
  const map = new NewestMap<string, number>(2);
  map.set('a', 1).set('b', 2);
  map.get('a');
  map.set('c', 3);
  expect([...map.keys()]).toEqual(['b', 'c']);
});
