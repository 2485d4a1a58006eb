// Ours against git's own receive-pack on hostile command streams: git must never act on a command, or see a push option,
// that our reading of the same bytes did not have. Ours may refuse more. GIT_WIRE_SEED runs another corpus.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GitWireError } from '../../src/protocols/git/git-wire-error.ts';
import { type ReceivePackRequest, ReceivePackRequestReader } from '../../src/protocols/git/receive-pack-request.ts';
import { pushStream } from './git-wire-corpus.ts';
import { GitGround } from './git-wire-ground.ts';
import { randomFrom } from './http1-corpus.ts';

const seed = Number(process.env.GIT_WIRE_SEED ?? 20260801);
const STREAMS = 400;
const ground = new GitGround();
let known = '';

beforeAll(async () => {
  await ground.prepare();
  known = await ground.commit('a.txt', 'one\n');
  await ground.git(['push', '-q', ground.bare, 'main']);
  // Writes down what it understood and takes nothing, so that every stream meets the same repository.
  ground.installWitness(false);
});

afterAll(() => ground.remove());

function read(bytes: Buffer): ReceivePackRequest | null {
  try {
    const reader = new ReceivePackRequestReader();
    reader.feed(bytes);
    return reader.result;
  } catch (error) {
    if (error instanceof GitWireError) return null;
    throw error;
  }
}

describe('git acts on no command that we did not read', () => {
  test('on streams made to be read in two ways', async () => {
    const random = randomFrom(seed);
    const tally = { acted: 0, same: 0, refusedByOurs: 0, refusedByOursAlone: 0 };
    for (let i = 0; i < STREAMS; i++) {
      const bytes = pushStream(random, known);
      const ours = read(bytes);
      await ground.receivePack(bytes);
      const theirs = ground.takeWitness();
      if (ours === null) tally.refusedByOurs++;
      if (theirs === null) continue;
      if (ours === null) {
        tally.refusedByOursAlone++;
        continue;
      }
      tally.acted++;
      const commands = ours.commands.map(({ oldId, newId, ref }) => `${oldId} ${newId} ${ref}`);
      const unseen = theirs.commands.filter((line) => !commands.includes(line));
      expect(unseen, `stream ${i}: ${JSON.stringify(bytes.toString('latin1'))}`).toEqual([]);
      expect(theirs.pushOptions, `stream ${i}`).toEqual(ours.pushOptions);
      if (theirs.commands.length === commands.length) tally.same++;
    }
    console.log(`push differential: seed ${seed}, ${STREAMS} streams, ${JSON.stringify(tally)}`);
    // The corpus must be worth something: enough that both accept, enough that only git does.
    expect(tally.same).toBeGreaterThan(STREAMS / 10);
    expect(tally.refusedByOursAlone).toBeGreaterThan(STREAMS / 20);
  }, 120_000);
});
