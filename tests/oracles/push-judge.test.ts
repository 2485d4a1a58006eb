import { afterAll, describe, expect, test } from 'vitest';
import { Refusal } from '../../src/path/refusal.ts';
import { PushMemory } from '../../src/stages/authorize/git/push-memory.ts';
import { withBody } from '../unit/path/exchange/scripted-exchange.ts';
import { pushing, strict, wordsOf } from '../unit/stages/authorize/git/git-judged-push.ts';
import { command, commandLines } from '../unit/stages/authorize/git/git-push-ground.ts';
import { Chance, GitRepository, howMany, seedOf } from './git-pack-ground.ts';
import { drawHistories, GitBackedServer } from './push-judge-ground.ts';
import { GitTruth } from './push-judge-truth.ts';

const HISTORIES = howMany(50);
/** Pushes of one sandbox to each, with what it remembers; between them others move what the server's refs lead to. */
const ROUNDS = 3;
const seed = seedOf('push-judge');
const chance = new Chance(seed);
const repository = new GitRepository();
afterAll(() => repository.remove());
/** Branches live in folders too, as deep as one likes. */
const places = ['b', 'b/', 'b/deep/er/'] as const;

/** What a server has of a history, and a push to it by a client that knows a part of that. */
function drawPush(ids: readonly string[]) {
  const refs = new Map<string, string>();
  if (chance.below(8) > 0) refs.set('refs/heads/main', chance.one(ids));
  for (let n = chance.below(4); n > 0; n--) refs.set(`refs/heads/${chance.one(places)}${n}`, chance.one(ids));
  if (chance.below(3) === 0) refs.set('refs/tags/v1', chance.one(ids));
  const known = [...refs.values()];
  if (chance.below(3) === 0) refs.set('refs/pull/7/head', chance.one(ids));
  const stray = chance.below(3) === 0 ? [chance.one(ids)] : [];
  const server = new GitBackedServer(repository, refs, stray);
  const branches = [...refs].filter(([name]) => name.startsWith('refs/heads/b'));
  const moves = branches
    .filter(() => chance.below(2) === 0)
    .map(([ref, oldId]) => command(ref, chance.one(ids), oldId));
  const created =
    moves.length === 0 || chance.below(2) === 0
      ? [command(`refs/heads/${chance.one(['new', 'new/one'])}`, chance.one(ids))]
      : [];
  const tagged = chance.below(4) === 0 ? [command('refs/tags/v2', chance.one(ids))] : [];
  const has = ids.filter((id) => server.held.has(id));
  // A client that is behind leaves out less than it could; a hostile one leaves out what no branch has.
  const leftOut = has.filter(() => chance.below(3) === 0);
  return { refs, known, server, moves, commands: [...moves, ...created, ...tagged], leftOut };
}

function packOf(newIds: readonly string[], leftOut: readonly string[]): Buffer {
  const form = chance.one([['--thin', '--delta-base-offset'], ['--thin'], ['--delta-base-offset'], []]);
  const options = [
    ...form,
    ...(chance.below(2) === 0 ? ['--no-reuse-delta'] : []),
    `--window=${chance.one([0, 2, 10, 50])}`,
    `--depth=${chance.one([1, 5, 50])}`,
  ];
  const revisions = [...newIds, ...leftOut.map((id) => `^${id}`)].join('\n');
  return repository.git(['pack-objects', '--revs', '--stdout', '-q', ...options], `${revisions}\n`);
}

/** The findings that were shown, and how many there were in all. */
function readFindings(refusal: Refusal): { rewritten: Set<string>; changed: Set<string>; count: number } {
  const words = wordsOf(refusal);
  const changed = [...words.matchAll(/- commit ([0-9a-f]{12}) changes (\S+), which is protected/g)];
  const rewritten = [...words.matchAll(/- this push would rewrite (\S+):/g)].map(
    ([, branch]) => `refs/heads/${branch}`,
  );
  const more = /\(and (\d+) more\)$/.exec(refusal.message);
  return {
    rewritten: new Set(rewritten),
    changed: new Set(changed.map(([, id, path]) => `${id} ${path}`)),
    count: 1 + Number(more?.[1] ?? 0),
  };
}

const nothing = { rewritten: new Set<string>(), changed: new Set<string>(), count: 0 };

describe('a push is judged as git judges what it does', () => {
  test(`in ${HISTORIES} histories made by chance, ${ROUNDS} pushes to each`, async () => {
    const histories = drawHistories(repository, chance, HISTORIES, seed);
    const truths = new GitTruth(repository);
    const seen = { passed: 0, rewritten: 0, inFolders: 0, changed: 0, thin: 0, known: 0, remembered: 0 };
    const pushes = histories.flatMap((ids, number) => Array.from({ length: ROUNDS }, () => ({ ids, number })));
    const memories = histories.map(() => new PushMemory());
    for (const { ids, number } of pushes) {
      const { refs, known, server, moves, commands, leftOut } = drawPush(ids);
      const hint = `SEED=${seed} history ${number}`;
      const newIds = commands.map(({ newId }) => newId);
      const trusted = [...refs].filter(([name]) => name === 'refs/heads/main').map(([, id]) => id);
      const truth = await truths.of({ moves, newIds, leftOut, known, trusted });
      const body = Buffer.concat([commandLines(commands), packOf(newIds, leftOut)]);
      const { flow, result } = pushing(withBody([body]), server, {
        sandbox: { authMode: 'user' },
        policy: strict,
        pushMemory: memories[number]!,
      });
      const refusal = await result.then(
        () => null,
        (error: unknown) => error,
      );
      if (refusal !== null && !(refusal instanceof Refusal)) throw new Error(hint, { cause: refusal });
      expect(refusal?.code ?? 'passed', `${hint}: ${refusal?.message}`).toMatch(
        /^(?:passed|push\.force|push\.protected-path)$/,
      );
      const found = refusal === null ? nothing : readFindings(refusal);
      expect(found.count, `${hint}: number of findings`).toBe(truth.rewritten.size + truth.changed.size);
      for (const ref of found.rewritten) expect(truth.rewritten, hint).toContain(ref);
      for (const change of found.changed) expect(truth.changed, hint).toContain(change);
      // At most twenty are shown: where that is all of them, they are the very same.
      if (found.count <= 20) {
        expect(found.rewritten, hint).toEqual(truth.rewritten);
        expect(found.changed, hint).toEqual(truth.changed);
      }
      // Whatever the rules for merges say: a commit that is new and changes a protected path by itself never passes.
      for (const change of truth.introduced) expect(truth.changed, hint).toContain(change);
      flow.trail.end();
      if (refusal === null) seen.passed++;
      if (truth.rewritten.size > 0) seen.rewritten++;
      if ([...truth.rewritten].some((ref) => ref.startsWith('refs/heads/b/'))) seen.inFolders++;
      if (truth.changed.size > 0) seen.changed++;
      if (server.asked.includes('known')) seen.known++;
      if (refusal === null && server.asked.every((question) => question === 'refs')) seen.remembered++;
      // Bases come before anything else.
      if (server.asked[0] === 'objects') seen.thin++;
    }
    console.info(`push-judge: ${JSON.stringify(seen)}`);
    // A run in which all verdicts were the same would prove nothing.
    expect(seen.passed).toBeGreaterThan(pushes.length / 10);
    expect(seen.rewritten).toBeGreaterThan(pushes.length / 10);
    expect(seen.inFolders).toBeGreaterThan(pushes.length / 20);
    expect(seen.changed).toBeGreaterThan(pushes.length / 10);
    expect(seen.known).toBeGreaterThan(pushes.length / 20);
    expect(seen.thin).toBeGreaterThan(pushes.length / 20);
    expect(seen.remembered).toBeGreaterThan(pushes.length / 20);
  }, 300_000);
});
