// A body is read by what its fields say it is. Fields that a server could read in another way than the gateway would have
// it act on bytes that nobody judged.
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, expectTaken, honestPack, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';

const type = 'application/x-git-receive-pack-request';
let ground: PushGround;
let repository: TestRepository;
let body: Buffer;
let next: string;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const { bare, main } = repository;
  next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
  body = pushOf([[zeroId, next, 'refs/heads/fine']], await honestPack(bare, [next], [main]));
});

afterAll(() => ground.stop());

describe('a push says exactly what it is', () => {
  test.each([
    ['none', []],
    ['that of a fetch', ['Content-Type: application/x-git-upload-pack-request']],
    ['that of anything', ['Content-Type: application/octet-stream']],
    ['with a parameter', [`Content-Type: ${type}; charset=utf-8`]],
    ['in upper case', [`Content-Type: ${type.toUpperCase()}`]],
    ['twice', [`Content-Type: ${type}`, `Content-Type: ${type}`]],
    ['two of them', [`Content-Type: ${type}`, 'Content-Type: text/plain']],
    ['two in one line', [`Content-Type: ${type}, text/plain`]],
    ['that of an answer', ['Content-Type: application/x-git-receive-pack-result']],
  ])('a content type: %s', async (_what, contentType) => {
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body, { contentType }));
  });

  test.each<[string, readonly string[], (bytes: Buffer) => Buffer]>([
    ['deflate', ['Content-Encoding: deflate'], deflateSync],
    ['br', ['Content-Encoding: br'], brotliCompressSync],
    ['gzip twice', ['Content-Encoding: gzip, gzip'], (bytes) => gzipSync(gzipSync(bytes))],
    ['gzip in two fields', ['Content-Encoding: gzip', 'Content-Encoding: gzip'], (bytes) => gzipSync(gzipSync(bytes))],
    ['gzip and nothing', ['Content-Encoding: gzip, identity'], gzipSync],
    ['nothing and then gzip', ['Content-Encoding: identity', 'Content-Encoding: gzip'], gzipSync],
    ['gzip and then nothing', ['Content-Encoding: gzip', 'Content-Encoding: identity'], gzipSync],
    ['nothing twice', ['Content-Encoding: identity', 'Content-Encoding: identity'], (bytes) => bytes],
    ['compress', ['Content-Encoding: compress'], (bytes) => bytes],
    ['a word that nobody knows', ['Content-Encoding: x-sly'], (bytes) => bytes],
    ['an empty word', ['Content-Encoding: '], (bytes) => bytes],
    ['gzip that is none', ['Content-Encoding: gzip'], (bytes) => bytes],
    ['gzip that is cut short', ['Content-Encoding: gzip'], (bytes) => gzipSync(bytes).subarray(0, -9)],
    ['gzip with a wrong checksum', ['Content-Encoding: gzip'], withWrongChecksum],
    ['gzip with something behind it', ['Content-Encoding: gzip'], (bytes) => Buffer.concat([gzipSync(bytes), bytes])],
  ])('a compression: %s', async (_what, more, compress) => {
    await expectStopped(ground, repository, 'git.malformed', () =>
      sendPush(ground, repository, compress(body), { more }),
    );
  });

  test('two pieces of gzip, the second with other commands', async () => {
    const sly = pushOf([[repository.main, next, 'refs/heads/main']], Buffer.alloc(0));
    const both = Buffer.concat([gzipSync(body), gzipSync(sly)]);
    await expectStopped(ground, repository, 'git.malformed', () =>
      sendPush(ground, repository, both, { more: ['Content-Encoding: gzip'] }),
    );
  });

  test('an honest one passes, so that the refusals above mean something', async () => {
    await expectTaken(ground, () => sendPush(ground, repository, body));
    expect(await repository.bare.tip('fine')).toBe(next);
  });
});

function withWrongChecksum(bytes: Buffer): Buffer {
  const zipped = gzipSync(bytes);
  zipped[zipped.length - 8]! ^= 1;
  return zipped;
}
