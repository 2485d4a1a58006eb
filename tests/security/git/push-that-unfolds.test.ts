// Small on the wire, enormous in memory: a body or an object that unfolds a thousandfold. The work is bounded, and the
// gateway goes on serving.
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oidOf } from '../../../src/protocols/git/objects/object-id.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import {
  commandSection,
  expectStopped,
  expectTaken,
  honestPack,
  pushOf,
  sendPush,
  zeroId,
} from '../../support/raw-push.ts';
import {
  commitText,
  literalDelta,
  type Part,
  packOf,
  sizeBytes,
} from '../../unit/protocols/git/objects/pack-builder.ts';

const mib = 1 << 20;
const limit = 8 * mib;
let ground: PushGround;
let repository: TestRepository;
let commit: Part;
let id: string;

beforeAll(async () => {
  ground = await openPushGround({ config: { limits: { push_bytes: limit } } });
  repository = await ground.repository();
  const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
  const content = commitText(tree, [repository.main]);
  commit = { code: 1, content };
  id = oidOf('commit', content);
});

afterAll(() => ground.stop());

const toSly = (pack: Buffer): Buffer => pushOf([[zeroId, id, 'refs/heads/sly']], pack);

/** How much this process, in which the gateway is, grew meanwhile. */
async function growth(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss();
  await work();
  return process.memoryUsage.rss() - before;
}

describe('what unfolds is cut off at the limit', () => {
  test('a body of zeros in gzip', async () => {
    const bomb = gzipSync(Buffer.concat([toSly(packOf([commit])), Buffer.alloc(512 * mib)]));
    expect(bomb.length).toBeLessThan(mib);
    const grown = await growth(() =>
      expectStopped(ground, repository, 'git.malformed', () =>
        sendPush(ground, repository, bomb, { more: ['Content-Encoding: gzip'] }),
      ),
    );
    expect(grown).toBeLessThan(128 * mib);
  });

  test('a pack of one blob that never ends, in gzip', async () => {
    const noise = Buffer.alloc(64 * mib, 'a');
    const pack = packOf([commit, { code: 3, content: noise, packed: deflateSync(noise, { level: 0 }) }]);
    const grown = await growth(() =>
      expectStopped(ground, repository, 'limit.push-size', () =>
        sendPush(ground, repository, gzipSync(toSly(pack), { level: 1 }), { more: ['Content-Encoding: gzip'] }),
      ),
    );
    expect(grown).toBeLessThan(160 * mib);
  });

  test('commands that never end, in gzip', async () => {
    const line = commandSection([[zeroId, id, `refs/heads/${'x'.repeat(200)}`]], '').subarray(0, -4);
    const bomb = gzipSync(Buffer.concat(Array.from({ length: 40_000 }, () => line)));
    await expectStopped(ground, repository, 'git.malformed', () =>
      sendPush(ground, repository, bomb, { more: ['Content-Encoding: gzip'] }),
    );
  });

  test('a directory of zeros', async () => {
    const zeros = Buffer.alloc(128 * mib);
    const top: Part = { code: 2, content: Buffer.alloc(0), size: zeros.length, packed: deflateSync(zeros) };
    const content = commitText(oidOf('tree', zeros), [repository.main]);
    const body = pushOf([[zeroId, oidOf('commit', content), 'refs/heads/sly']], packOf([{ code: 1, content }, top]));
    expect(body.length).toBeLessThan(mib);
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('a blob of zeros that says it is small', async () => {
    const packed = deflateSync(Buffer.alloc(256 * mib));
    const pack = packOf([commit, { code: 3, content: Buffer.alloc(0), size: 10, packed }]);
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, toSly(pack)));
  });

  test('a delta that makes an enormous commit of a small one', async () => {
    const size = commit.content.length;
    const copy = Buffer.from([0x90, size]);
    const times = 4 * mib;
    const delta = Buffer.concat([
      sizeBytes(size),
      sizeBytes(size * times),
      ...Array.from({ length: times }, () => copy),
    ]);
    expect(size).toBeLessThan(256);
    const pack = packOf([commit, { code: 6, base: 0, content: delta }]);
    const body = toSly(pack);
    expect(body.length).toBeLessThan(mib);
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('a chain of deltas without end', async () => {
    const parts: Part[] = [commit];
    for (let i = 0; i < 5_000; i++) {
      const content = commitText('ab'.repeat(20), [], `m${i}`);
      const before = parts[i]!;
      const size = i === 0 ? before.content.length : commitText('ab'.repeat(20), [], `m${i - 1}`).length;
      parts.push({ code: 6, base: i, content: literalDelta(size, content) });
    }
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, toSly(packOf(parts))));
  });

  test('a pack that says it has four thousand million objects', async () => {
    const pack = packOf([commit], { count: 0xffff_ffff });
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, toSly(pack)));
  });
});

describe('the gateway goes on', () => {
  test('an honest push in gzip passes', async () => {
    const { bare, main } = repository;
    const next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
    const body = pushOf([[zeroId, next, 'refs/heads/fine']], await honestPack(bare, [next], [main]));
    await expectTaken(ground, () => sendPush(ground, repository, gzipSync(body), { more: ['Content-Encoding: gzip'] }));
    expect(await bare.tip('fine')).toBe(next);
  });
});
