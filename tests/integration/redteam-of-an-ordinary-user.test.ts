import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../support/run-ground.ts';

let ground: RunGround;

beforeAll(() => {
  ground = makeRunGround({});
});

afterAll(() => ground.remove());

interface Report {
  readonly attacks: readonly { readonly name: string; readonly verdict: string; readonly evidence: string }[];
}

describe('sallyport redteam as an ordinary user', () => {
  test('finds no hole, and proves what held', { timeout: 120_000 }, async () => {
    const { stdout, stderr } = await ground.sallyport('an ordinary user', ['redteam', '--json'], {
      timeoutMs: 110_000,
    });
    const { attacks } = JSON.parse(stdout) as Report;
    const odd = attacks.filter(({ verdict }) => verdict !== 'held' && verdict !== 'not run');
    expect(odd, stderr).toEqual([]);
    expect(attacks.filter(({ verdict }) => verdict === 'held').length).toBeGreaterThan(100);
  });
});
