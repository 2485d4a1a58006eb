import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AncestryMemo, boundaryAnswer, isFastForward } from '../../src/protocols/git/objects/ancestry.ts';
import { objectsOf } from '../unit/protocols/git/objects/pack-builder.ts';
import { Chance, GitRepository, howMany, seedOf } from './git-pack-ground.ts';

const answerOf = (
  returned: readonly { readonly oid: string; readonly parents: readonly string[] }[],
  b: string,
  old: string,
) => boundaryAnswer(new Map(returned.map((commit) => [commit.oid, commit])), b, old);

const HISTORIES = howMany(150);
const seed = seedOf('git-pack-ancestry');
const chance = new Chance(seed);
const repository = new GitRepository();
afterAll(() => repository.remove());

/** How each new commit finds its parents: in line, with many merges, bushy, or with new roots. */
const shapes = [
  { merges: 5, roots: 0, near: 2 },
  { merges: 60, roots: 5, near: 4 },
  { merges: 30, roots: 10, near: 50 },
  { merges: 10, roots: 30, near: 10 },
  { merges: 90, roots: 0, near: 50 },
] as const;

/** Commit numbers with their parents; numbers are the marks of fast-import. */
function drawHistory(first: number): number[][] {
  const shape = chance.one(shapes);
  const history: number[][] = [];
  for (let n = 0; n < 2 + chance.below(24); n++) {
    const parents = new Set<number>();
    const wanted =
      n === 0 || chance.below(100) < shape.roots ? 0 : chance.below(100) < shape.merges ? 2 + chance.below(2) : 1;
    for (let tries = 0; tries < wanted; tries++) parents.add(first + n - 1 - chance.below(Math.min(n, shape.near)));
    history.push([...parents]);
  }
  return history;
}

const drawn: { ids: string[] }[] = [];
const parentsOf = new Map<string, string[]>();

beforeAll(() => {
  const stream: string[] = [];
  const spans: [first: number, count: number][] = [];
  let mark = 1;
  for (let h = 0; h < HISTORIES; h++) {
    const first = mark;
    for (const parents of drawHistory(first)) {
      stream.push(`commit refs/heads/h${h}-${mark}`, `mark :${mark}`, 'committer a <a@b> 1700000000 +0000');
      const message = `${seed} ${mark}`;
      stream.push(`data ${message.length}`, message);
      parents.forEach((parent, place) => {
        stream.push(`${place === 0 ? 'from' : 'merge'} :${parent}`);
      });
      stream.push(`M 100644 inline f${mark % 7}`, `data ${message.length}`, message, '');
      mark++;
    }
    spans.push([first, mark - first]);
  }
  repository.git(['fast-import', '--quiet'], `${stream.join('\n')}\n`);
  const marks = new Map<string, string>();
  for (const line of repository.lines(['rev-list', '--parents', '--all'])) {
    const [oid, ...parents] = line.split(' ') as [string, ...string[]];
    parentsOf.set(oid, parents);
  }
  for (const line of repository.lines(['for-each-ref', '--format=%(refname) %(objectname)'])) {
    const [ref, oid] = line.split(' ') as [string, string];
    marks.set(ref.slice(ref.lastIndexOf('-') + 1), oid);
  }
  for (const [first, count] of spans) {
    drawn.push({ ids: Array.from({ length: count }, (_, n) => marks.get(String(first + n)) as string) });
  }
});

function reachable(tips: readonly string[]): Set<string> {
  const seen = new Set(tips);
  for (const oid of seen) for (const parent of parentsOf.get(oid) ?? []) seen.add(parent);
  return seen;
}

/** The boundary question, answered by git from the server's commits. */
const boundary = async (b: string, old: string) => {
  const returned = repository.lines(['rev-list', '--parents', b, `^${old}`]).map((line) => {
    const [oid, ...parents] = line.split(' ') as [string, ...string[]];
    return { oid, parents };
  });
  return answerOf(returned, b, old);
};

const never = async () => {
  throw new Error('nothing had to be asked');
};

describe('our verdict is that of git merge-base --is-ancestor', () => {
  test(`on ${HISTORIES} histories made by chance, with and without the boundary question`, async () => {
    let yes = 0;
    let asked = 0;
    for (const [number, { ids }] of drawn.entries()) {
      for (let n = 0; n < 2; n++) {
        const oldId = chance.one(ids);
        const newId = chance.one(ids);
        const truth = await repository.says(['merge-base', '--is-ancestor', oldId, newId]);
        const expected = truth ? 'fast-forward' : 'not-fast-forward';
        const hint = `SEED=${seed} history ${number}: ${oldId} ${newId}`;
        if (truth) yes++;
        const whole = (oid: string) => ({ parents: parentsOf.get(oid) as string[] });
        expect(await isFastForward({ oldId, newId, commits: whole, boundary: never }), hint).toBe(expected);
        // The server has the old tip and some others; the pack has what is new to it.
        const server = reachable([oldId, chance.one(ids), ...(chance.below(2) === 0 ? [chance.one(ids)] : [])]);
        const commits = (oid: string) => (server.has(oid) ? null : whole(oid));
        const asking = (b: string, old: string) => {
          asked++;
          expect(server.has(b), `${hint}: asked for ${b}, which is not on the server`).toBe(true);
          return boundary(b, old);
        };
        const verdict = isFastForward({ oldId, newId, commits, boundary: asking, memo: new AncestryMemo() });
        expect(await verdict, hint).toBe(expected);
      }
    }
    // A run in which all answers were the same would prove nothing.
    expect(yes).toBeGreaterThan(HISTORIES / 5);
    expect(yes).toBeLessThan(HISTORIES * 1.8);
    expect(asked).toBeGreaterThan(HISTORIES / 5);
  }, 120_000);

  test('with the commits read from a pack that git wrote, and the question put to git upload-pack', async () => {
    for (const { ids } of drawn.slice(0, 30)) {
      const oldId = chance.one(ids);
      const newId = chance.one(ids);
      const server = chance.one(ids);
      const pack = repository.git(
        ['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset'],
        `${newId}\n--not\n${oldId}\n${server}\n`,
      );
      const objects = await objectsOf(pack);
      const commits = (oid: string) => objects.commits.get(oid) ?? null;
      const truth = await repository.says(['merge-base', '--is-ancestor', oldId, newId]);
      const hint = `SEED=${seed}: ${oldId} ${newId}`;
      const verdict = await isFastForward({ oldId, newId, commits, boundary: askUploadPack });
      expect(verdict, hint).toBe(truth ? 'fast-forward' : 'not-fast-forward');
      // And with nothing in the pack at all, so that the question is always put.
      const bare = await isFastForward({ oldId, newId, commits: () => null, boundary: askUploadPack });
      expect(bare, hint).toBe(truth ? 'fast-forward' : 'not-fast-forward');
    }
  }, 120_000);
});

async function askUploadPack(b: string, old: string): Promise<boolean> {
  const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;
  const request = [
    pkt('command=fetch'),
    '0001',
    pkt('no-progress'),
    pkt(`want ${b}\n`),
    pkt(`have ${old}\n`),
    pkt('filter tree:0\n'),
    pkt('done\n'),
    '0000',
  ].join('');
  const answer = repository.git(['upload-pack', '--stateless-rpc', '.'], request, { GIT_PROTOCOL: 'version=2' });
  const pieces: Buffer[] = [];
  for (let at = 0; at < answer.length; ) {
    const length = Number.parseInt(answer.toString('latin1', at, at + 4), 16);
    if (length >= 5 && answer[at + 4] === 1) pieces.push(answer.subarray(at + 5, at + length));
    at += Math.max(length, 4);
  }
  const objects = await objectsOf(Buffer.concat(pieces));
  expect(objects.missingBases).toEqual([]);
  return answerOf(
    [...objects.commits].map(([oid, { parents }]) => ({ oid, parents })),
    b,
    old,
  );
}
