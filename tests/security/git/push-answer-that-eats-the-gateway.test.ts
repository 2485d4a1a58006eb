// A hostile git server answers what the gateway asks about a push with the packs and lists that a hostile push would bring:
// the same budget holds for them, and what an answer took is given back.
import { describe, expect, test } from 'vitest';
import { AcknowledgmentReader } from '../../../src/protocols/git/fetch-acknowledgments.ts';
import { LsRefsReader } from '../../../src/protocols/git/fetch-v2.ts';
import { FetchedPack } from '../../../src/protocols/git/fetched-pack.ts';
import { PackStore } from '../../../src/protocols/git/objects/pack-store.ts';
import { OverBudget, WorkBudget } from '../../../src/protocols/git/objects/work-budget.ts';
import { delimPkt, encodePkt, flushPkt } from '../../../src/protocols/git/pkt-line.ts';
import {
  commitsOfManyParents,
  deltasOnNothing,
  type HungryPack,
  mergeOfWideDirectories,
} from '../../support/hungry-packs.ts';

const mib = 1024 ** 2;

function answerOf(pack: Buffer): Buffer {
  const pieces = [encodePkt('packfile\n')];
  for (let at = 0; at < pack.length; at += 60_000) {
    pieces.push(encodePkt(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 60_000)])));
  }
  return Buffer.concat([...pieces, flushPkt]);
}

async function read({ pack }: HungryPack, budget: WorkBudget) {
  const store = new PackStore(64 * mib, () => Promise.reject(new Error('it fits in memory')));
  const fetched = new FetchedPack(store, {}, budget);
  await fetched.feed(answerOf(pack));
  return fetched.end();
}

describe('an answer of a server is charged like a push', () => {
  test('commits with very many parents', async () => {
    const whole = new WorkBudget({ maxHeldBytes: 16 * mib });
    const part = whole.part();
    await expect(read(commitsOfManyParents(2_000, 1_000), part)).rejects.toThrow(OverBudget);
    expect(whole.heldBytes).toBeLessThanOrEqual(16 * mib);
    part.close();
    expect(whole.heldBytes).toBe(0);
  });

  test('deltas on what is not there', async () => {
    await expect(read(deltasOnNothing(100_000), new WorkBudget({ maxHeldBytes: 16 * mib }))).rejects.toThrow(
      OverBudget,
    );
  });

  test('directories that are deltas of one', async () => {
    const budget = new WorkBudget({ maxWorkBytes: 64 * mib });
    await expect(read(mergeOfWideDirectories(50_000, 64), budget)).rejects.toThrow(OverBudget);
  });

  test('a history with a merge of sixty-six, as there is one in the wild, is read', async () => {
    const { commits } = await read(commitsOfManyParents(10, 66), new WorkBudget());
    expect([...commits.values()].map(({ parents }) => parents.length)).toEqual(new Array(10).fill(66));
  });
});

describe('lists without end', () => {
  const line = (n: number): Buffer => encodePkt(`${n.toString(16).padStart(40, '0')} refs/heads/b${n}\n`);
  const list = Buffer.concat(Array.from({ length: 20_000 }, (_, n) => line(n)));

  test('refs that were asked for are charged, others are not kept', () => {
    const budget = new WorkBudget({ maxHeldBytes: mib });
    expect(() => new LsRefsReader(['refs/heads/'], budget).feed(list)).toThrow(OverBudget);
    const other = new WorkBudget({ maxHeldBytes: mib });
    const reader = new LsRefsReader(['refs/heads/b17'], other);
    reader.feed(Buffer.concat([list.subarray(0, line(0).length), flushPkt]));
    expect([reader.end(), other.heldBytes]).toEqual([[], 0]);
  });

  test('only commits that were asked about can be acknowledged', () => {
    const reader = new AcknowledgmentReader(['a'.repeat(40)]);
    const answer = ['acknowledgments', `ACK ${'a'.repeat(40)}`].map((text) => encodePkt(`${text}\n`));
    reader.feed(Buffer.concat(answer));
    expect(() => reader.feed(encodePkt(`ACK ${'b'.repeat(40)}\n`))).toThrow('not of the protocol');
    const honest = new AcknowledgmentReader(['a'.repeat(40)]);
    honest.feed(Buffer.concat([...answer, delimPkt]));
    expect([...honest.end()]).toEqual(['a'.repeat(40)]);
  });
});
