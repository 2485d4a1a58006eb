// A pack that lies about itself. Whatever a server would make of it, the gateway cannot vouch for what it did not read.
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oidOf } from '../../../src/protocols/git/objects/object-id.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { commandSection, expectStopped, expectTaken, pushOf, sendPush, zeroId } from '../../support/raw-push.ts';
import {
  appendDelta,
  commitText,
  literalDelta,
  type Part,
  packOf,
  sealed,
} from '../../unit/protocols/git/objects/pack-builder.ts';

let ground: PushGround;
let repository: TestRepository;
let commit: Part;
let id: string;
const blob: Part = { code: 3, content: Buffer.from('some bytes\n') };

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
  const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
  const content = commitText(tree, [repository.main]);
  commit = { code: 1, content };
  id = oidOf('commit', content);
});

afterAll(() => ground.stop());

async function expectRefusedPack(pack: Buffer, code = 'git.malformed'): Promise<void> {
  const body = pushOf([[zeroId, id, 'refs/heads/sly']], pack);
  const answer = await expectStopped(ground, repository, code, () => sendPush(ground, repository, body));
  expect(answer.text).toContain('ng refs/heads/sly');
}

/** Two deltas, each made from the other. */
function circle(): Part[] {
  const one = literalDelta(100, Buffer.from('one'));
  const ids = ['11'.repeat(20), '22'.repeat(20)] as const;
  return [
    { code: 7, base: ids[0], content: one },
    { code: 7, base: ids[1], content: one },
  ];
}

describe('a pack that is not what it says is refused', () => {
  test('deltas in a circle', () => expectRefusedPack(packOf([commit, ...circle()]), 'push.undecided'));

  test('a delta that is its own base', () =>
    expectRefusedPack(packOf([commit, { code: 6, distance: 0, content: literalDelta(10, Buffer.from('self')) }])));

  test('a delta whose base begins between two objects', () =>
    expectRefusedPack(packOf([commit, { code: 6, distance: 3, content: literalDelta(10, Buffer.from('x')) }])));

  test('a delta that does not fit its base', () =>
    expectRefusedPack(packOf([commit, { code: 6, base: 0, content: appendDelta(9_999, Buffer.from('x')) }])));

  test.each([
    ['larger', 1],
    ['smaller', -1],
    ['much larger', 1_000_000],
  ])('an object that says it is %s than it is', (_what, more) =>
    expectRefusedPack(packOf([commit, { ...blob, size: blob.content.length + more }])),
  );

  test('more objects than it says', () => expectRefusedPack(packOf([commit, blob], { count: 1 })));

  test('fewer objects than it says', () => expectRefusedPack(packOf([commit, blob], { count: 3 })));

  test('none, and yet one', () => expectRefusedPack(packOf([commit], { count: 0 })));

  test('a wrong checksum', () => expectRefusedPack(packOf([commit], { checksum: Buffer.alloc(20, 7) })));

  test('cut short', () => expectRefusedPack(packOf([commit, blob]).subarray(0, -21)));

  test('without its checksum', () => expectRefusedPack(packOf([commit, blob]).subarray(0, -20)));

  test('nothing at all', () => expectRefusedPack(Buffer.alloc(0)));

  test('bytes behind its end', () => expectRefusedPack(Buffer.concat([packOf([commit]), Buffer.from('more')])));

  test('a second pack behind its end', () => expectRefusedPack(Buffer.concat([packOf([commit]), packOf([blob])])));

  test('the same commit twice', () => expectRefusedPack(packOf([commit, commit])));

  test('an object of a type that there is not', () => expectRefusedPack(packOf([commit, { ...blob, code: 5 }])));

  test('an object of type zero', () => expectRefusedPack(packOf([commit, { ...blob, code: 0 }])));

  test('compressed bytes that are none', () =>
    expectRefusedPack(packOf([commit, { ...blob, packed: Buffer.from('not zlib at all') }])));

  test('a dictionary in the compression', () => {
    const packed = deflateSync(blob.content, { dictionary: Buffer.from('some bytes') });
    return expectRefusedPack(packOf([commit, { ...blob, packed }]));
  });

  test('another signature', () => {
    const body = packOf([commit]).subarray(0, -20);
    body.write('KCAP', 0, 'latin1');
    return expectRefusedPack(sealed(body));
  });

  test.each([0, 1, 3, 4])('version %i', (version) =>
    expectRefusedPack(packOf([commit], { version }), 'push.undecided'),
  );

  test('a commit with two readings of its parents', () => {
    const text = commit.content.toString().replace('\n\n', `\nparent ${'ab'.repeat(20)}\n\n`);
    const content = Buffer.from(text);
    const body = pushOf([[zeroId, oidOf('commit', content), 'refs/heads/sly']], packOf([{ code: 1, content }]));
    return expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
  });
});

describe('what stands in the place of a pack', () => {
  test('a pack where every command is a deletion', async () => {
    const body = Buffer.concat([commandSection([[repository.main, zeroId, 'refs/heads/gone']]), packOf([blob])]);
    await expectStopped(ground, repository, 'git.malformed', () => sendPush(ground, repository, body));
  });

  test('an honest pack of two objects passes, so that the refusals above mean something', async () => {
    const pack = packOf([commit, blob]);
    expect(createHash('sha1').update(pack.subarray(0, -20)).digest()).toEqual(pack.subarray(-20));
    await expectTaken(ground, () => sendPush(ground, repository, pushOf([[zeroId, id, 'refs/heads/sly']], pack)));
    expect(await repository.bare.tip('sly')).toBe(id);
  });
});
