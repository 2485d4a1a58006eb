import { expect, test } from 'vitest';
import { type KeptUpstream, KeptUpstreams } from '../../../../../src/stages/forward/dial/kept-upstreams.ts';

function open(most?: number) {
  const kept = new KeptUpstreams(most);
  const gone: string[] = [];
  const one = (sandboxId: string, name: string): KeptUpstream => ({
    sandboxId,
    letGo: () => gone.push(`${sandboxId} ${name}`),
  });
  const keep = (sandboxId: string, name: string): KeptUpstream => {
    const made = one(sandboxId, name);
    kept.add(made);
    return made;
  };
  return { kept, gone, keep };
}

test('one sandbox keeps 256, and the one that rests longest goes', () => {
  const { kept, gone, keep } = open();
  for (let i = 0; i < 300; i++) keep('greedy', `h${i}`);
  expect(kept.size).toBe(256);
  expect(gone).toEqual(Array.from({ length: 44 }, (_, i) => `greedy h${i}`));
});

test('when there are too many in all, it is the turn of whoever has most', () => {
  const { kept, gone, keep } = open(10);
  keep('quiet', 'a');
  keep('quiet', 'b');
  for (let i = 0; i < 50; i++) keep('greedy', `h${i}`);
  expect(kept.size).toBe(10);
  expect(gone.filter((name) => name.startsWith('quiet'))).toEqual([]);
  expect(gone).toHaveLength(42);
});

test('what is in use or gone is no longer among them, and is not counted twice', () => {
  const { kept, gone, keep } = open(2);
  const first = keep('one', 'a');
  kept.add(first);
  expect(kept.size).toBe(1);
  kept.delete(first);
  kept.delete(first);
  expect(kept.size).toBe(0);
  for (const name of ['b', 'c', 'd']) keep('one', name);
  expect(gone).toEqual(['one b']);
});
