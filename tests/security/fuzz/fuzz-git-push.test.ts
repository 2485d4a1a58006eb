// Pushes made by real git, damaged on their way through a whole gateway: what was refused never reaches the server, what
// reaches it changes no ref that the policy protects, and the gateway serves an honest push after all of them.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GitWireError } from '../../../src/protocols/git/git-wire-error.ts';
import { PktReader } from '../../../src/protocols/git/pkt-line.ts';
import { ReceivePackRequestReader } from '../../../src/protocols/git/receive-pack-request.ts';
import { bent, mutated } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';
import { objectsOf, sealed } from '../../unit/protocols/git/objects/pack-builder.ts';

reportFuzz('git pushes');

let ground: PushGround;
let repository: TestRepository;
const packs: Buffer[] = [];
const pushes: Buffer[] = [];
/** A push that may pass, to a branch of its own: damage leaves none of those. */
let honestPush: (branch: number) => Buffer;

beforeAll(async () => {
  ground = await openPushGround({
    config: {
      policy: { protected_branches: ['main'], protected_paths: ['.github/workflows/**'] },
      // A push is to be refused for what is in it, not for how many came before it.
      limits: { pushes_per_minute: 1_000_000, requests_per_minute: 1_000_000 },
    },
  });
  repository = await ground.repository();
  const { bare, main } = repository;
  // Made beside the repository's own branches, and pushed again as if they were new.
  const topic = await bare.commit({ branch: 'refs/made/topic', parents: [main], files: { 'src/new.txt': 'new\n' } });
  const workflow = await bare.commit({
    branch: 'refs/made/workflow',
    parents: [main],
    files: { '.github/workflows/ci.yml': 'on: x\n' },
  });
  packs.push(
    await honestPack(bare, [topic], [main]),
    await honestPack(bare, [workflow], [main]),
    await honestPack(bare, [topic, workflow]),
  );
  const [small, sly, whole] = packs as [Buffer, Buffer, Buffer];
  pushes.push(
    pushOf([[zeroId, topic, 'refs/heads/topic']], small),
    pushOf([[main, topic, 'refs/heads/main']], small),
    pushOf([[zeroId, workflow, 'refs/heads/flow']], sly),
    pushOf(
      [
        [zeroId, topic, 'refs/heads/one'],
        [main, workflow, 'refs/heads/main'],
      ],
      whole,
    ),
    pushOf([[main, zeroId, 'refs/heads/main']], Buffer.alloc(0)),
    pushOf([[zeroId, topic, 'refs/heads/opt']], small, 'report-status push-options atomic object-format=sha1'),
  );
  honestPush = (branch) => pushOf([[zeroId, topic, `refs/heads/honest-${branch}`]], small);
  await bare.git('update-ref', '-d', 'refs/made/topic');
  await bare.git('update-ref', '-d', 'refs/made/workflow');
});

afterAll(() => ground.stop());

/** An error of the wire is how a reader says no. */
async function isTaken(read: () => unknown): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (!(error instanceof GitWireError)) throw error;
    return false;
  }
}

describe('a damaged push', () => {
  test('is read by every reader of the wire, or refused by it', { timeout: fuzzTimeoutMs }, () => {
    let read = 0;
    fuzz(mutated(pushes), 3_000, (bytes) => {
      const outcomes = [
        [bytes],
        Array.from({ length: Math.ceil(bytes.length / 9) }, (_, i) => bytes.subarray(i * 9, i * 9 + 9)),
      ].map((parts) => {
        const reader = new ReceivePackRequestReader();
        try {
          const isWhole = parts.some((part) => reader.feed(part));
          return isWhole ? JSON.stringify(reader.result.commands) : 'more';
        } catch (error) {
          if (error instanceof GitWireError) return 'refused';
          throw error;
        }
      });
      // A push that carries no pack is refused for a byte behind it only when that byte comes.
      if (!outcomes.includes('refused')) expect(outcomes[0]).toBe(outcomes[1]);
      if (outcomes[0]!.startsWith('[')) read++;
      try {
        new PktReader('v2').feed(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(GitWireError);
      }
    });
    expect(read).toBeGreaterThan(100);
  });

  test('a pack is taken apart or refused', { timeout: fuzzTimeoutMs }, async () => {
    let taken = 0;
    await fuzzSlowly(mutated(packs), 300, async (pack) => {
      if (await isTaken(() => objectsOf(resealed(pack)))) taken++;
    });
    expect(taken).toBeGreaterThan(0);
  });

  test('that is refused reaches nobody, and none moves what is protected', { timeout: fuzzTimeoutMs }, async () => {
    const { bare, main } = repository;
    let refused = 0;
    let sent = 0;
    const damaged = fc.oneof(
      { weight: 5, arbitrary: mutated(pushes) },
      { weight: 5, arbitrary: bent(pushes) },
      { weight: 1, arbitrary: fc.nat().map(honestPush) },
    );
    await fuzzSlowly(fc.tuple(damaged, fc.boolean()), 70, async ([bytes, reseal]) => {
      ground.upstream.forget();
      const answer = await sendPush(ground, repository, reseal ? resealed(bytes) : bytes);
      expect(answer.statuses.length, answer.text).toBe(1);
      expect([429, 500], answer.text).not.toContain(answer.statuses[0]);
      const isRefused = answer.code !== null;
      if (isRefused) {
        refused++;
        expect(ground.upstream.pushes).toEqual([]);
      } else sent += ground.upstream.pushes.length;
      expect(await bare.git('rev-parse', 'refs/heads/main')).toBe(main);
    });
    expect(refused).toBeGreaterThan(10);
    expect(sent).toBeGreaterThan(0);
    // Nothing that changes a workflow came to be on any branch.
    for (const ref of Object.keys(await bare.refs())) {
      expect(await bare.git('rev-parse', `${ref}:.github/workflows/ci.yml`)).toBe(
        await bare.git('rev-parse', `${main}:.github/workflows/ci.yml`),
      );
    }
    expect(ground.spooled()).toEqual([]);
    const honest = await sendPush(ground, repository, pushes[0]!.subarray());
    expect([200]).toEqual(honest.statuses);
  });
});

/** The checksum of a pack made right again, so that what is inside is looked at. */
function resealed(bytes: Buffer): Buffer {
  const start = bytes.indexOf('PACK');
  if (start < 0 || bytes.length - start < 32) return bytes;
  return Buffer.concat([bytes.subarray(0, start), sealed(bytes.subarray(start, -20))]);
}
