// A push may say that the client does not have the parents of a commit. A server that takes shallow pushes then stores a
// history with a hole in it, and nobody can say what was in the hole.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { oidOf } from '../../../src/protocols/git/objects/object-id.ts';
import { encodePkt, flushPkt } from '../../../src/protocols/git/pkt-line.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { type Command, expectStopped, expectTaken, honestPack, sendPush, zeroId } from '../../support/raw-push.ts';
import { commitText, packOf } from '../../unit/protocols/git/objects/pack-builder.ts';

let ground: PushGround;
let repository: TestRepository;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

beforeEach(async () => {
  repository = await ground.repository({ config: { 'receive.shallowUpdate': 'true' } });
});

function shallowPush(shallow: string, [oldId, newId, ref]: Command, pack: Buffer): Buffer {
  const command = `${oldId} ${newId} ${ref}\0 report-status side-band-64k agent=git/2.39.5`;
  return Buffer.concat([encodePkt(`shallow ${shallow}`), encodePkt(command), flushPkt, pack]);
}

/** A commit whose parent nobody has. */
async function cutOff(): Promise<{ readonly id: string; readonly pack: Buffer }> {
  const tree = await repository.bare.git('rev-parse', `${repository.main}^{tree}`);
  const content = commitText(tree, ['ab'.repeat(20)]);
  return { id: oidOf('commit', content), pack: packOf([{ code: 1, content }]) };
}

describe('a history with a hole in it is not pushed', () => {
  test('as a new branch', async () => {
    const { id, pack } = await cutOff();
    const body = shallowPush(id, [zeroId, id, 'refs/heads/hole'], pack);
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('in the place of a branch', async () => {
    const { bare, main } = repository;
    const tip = await bare.commit({ branch: 'feature', parents: [main], files: { f: 'f\n' } });
    const { id, pack } = await cutOff();
    const body = shallowPush(id, [tip, id, 'refs/heads/feature'], pack);
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('a rewrite is one also when the client says that it knows no parents', async () => {
    const { bare, main } = repository;
    const tip = await bare.commit({ branch: 'feature', parents: [main], files: { f: 'f\n' } });
    const beside = await bare.commit({ branch: 'refs/made/beside', parents: [main], files: { f: 'g\n' } });
    const pack = await honestPack(bare, [beside], [main]);
    const body = shallowPush(beside, [tip, beside, 'refs/heads/feature'], pack);
    await expectStopped(ground, repository, 'push.force', () => sendPush(ground, repository, body));
  });

  test('what the server has behind the hole passes', async () => {
    const { bare, main } = repository;
    const next = await bare.commit({ branch: 'refs/made/next', parents: [main], files: { n: 'n\n' } });
    const body = shallowPush(main, [zeroId, next, 'refs/heads/fine'], await honestPack(bare, [next], [main]));
    await expectTaken(ground, () => sendPush(ground, repository, body));
    expect(await bare.git('rev-list', '--count', 'fine')).toBe('2');
  });
});
