// Batch requests of git-lfs, damaged, through a whole gateway: what was refused is never asked of the server, and what is
// asked has one reading: an operation that was judged, and nothing beside the keys that are known.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bent, mutated } from '../../support/fuzz-mutations.ts';
import { fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { ask, askBatch, type LfsGround, lfsType, openLfsGround, repositoryUrl } from '../../support/lfs-ground.ts';

reportFuzz('LFS batches');

let ground: LfsGround;

beforeAll(async () => {
  // May download, and has no branch to push to: every upload is to be refused.
  ground = await openLfsGround({ registration: { auth_mode: 'bot', allowed_branches: [] } });
});

afterAll(() => ground.stop());

// The same every time, so that a seed leads to the same inputs.
const oid = 'ab'.repeat(32);
const size = 1000;
const object = { oid, size };
const recorded = [
  {
    operation: 'download',
    transfers: ['basic', 'ssh'],
    objects: [{ oid, size }],
    hash_algo: 'sha256',
    ref: { name: 'refs/heads/main' },
  },
  { operation: 'upload', transfers: ['basic'], objects: [{ oid, size }], ref: { name: 'refs/heads/sandbox/x' } },
  {
    operation: 'download',
    objects: [
      { oid, size },
      { oid: oid.replace(/./, 'a'), size: 0 },
    ],
  },
].map((one) => Buffer.from(JSON.stringify(one)));

describe('a damaged batch', () => {
  test('asks of the server what was judged, or nothing', { timeout: fuzzTimeoutMs }, async () => {
    let passed = 0;
    await fuzzSlowly(fc.oneof(mutated(recorded), bent(recorded)), 90, async (body) => {
      ground.upstream.forget();
      const reply = await ask(ground, `${repositoryUrl}/info/lfs/objects/batch`, {
        method: 'POST',
        body,
        headers: { 'content-type': lfsType },
      });
      expect([429, 500], reply.text).not.toContain(reply.status);
      const { asked } = ground.upstream;
      if (reply.code !== null && reply.code !== 'upstream.unsafe') expect(asked).toEqual([]);
      for (const one of asked) {
        passed++;
        const sent = JSON.parse(one.body) as Record<string, unknown>;
        expect(sent.operation).toBe('download');
        expect(Object.keys(sent).filter((key) => !/^(operation|transfers|ref|objects|hash_algo)$/.test(key))).toEqual(
          [],
        );
      }
    });
    expect(passed).toBeGreaterThan(0);
    ground.upstream.forget();
    expect((await askBatch(ground, 'download', [object])).status).toBe(200);
  });
});
