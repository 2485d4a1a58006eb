// Objects under longer ids are read by other rules than the ones the gateway knows: such a repository is not pushed to.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodePkt, flushPkt } from '../../../src/protocols/git/pkt-line.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { expectStopped, honestPack, sendPush } from '../../support/raw-push.ts';
import { packOf } from '../../unit/protocols/git/objects/pack-builder.ts';

let ground: PushGround;
let repository: TestRepository;
let tip: string;

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository({ objectFormat: 'sha256' });
  tip = await repository.bare.commit({ branch: 'main', files: { a: 'a\n' } });
});

afterAll(() => ground.stop());

describe('a repository of another object format', () => {
  test.each([
    ['that is named', ' object-format=sha256', 'push.undecided'],
    ['that is not named', '', 'git.malformed'],
  ])('%s is not pushed to', async (_what, more, code) => {
    const line = `${'0'.repeat(64)} ${tip} refs/heads/other\0 report-status side-band-64k${more} agent=git/2.39.5`;
    const body = Buffer.concat([encodePkt(line), flushPkt, await honestPack(repository.bare, [])]);
    await expectStopped(ground, repository, code, () => sendPush(ground, repository, body));
  });

  test('nor with ids cut to the length of the other format', async () => {
    const line = `${'0'.repeat(40)} ${tip.slice(0, 40)} refs/heads/other\0 report-status side-band-64k`;
    const body = Buffer.concat([encodePkt(line), flushPkt, packOf([])]);
    await expectStopped(ground, repository, 'push.undecided', () => sendPush(ground, repository, body));
  });

  test('nor by git itself, which shows why', async () => {
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'other', parents: [tip], files: { b: 'b\n' } });
    ground.upstream.forget();
    const { stderr } = await clone.run(['push', 'origin', 'other']);
    expect(stderr).toContain('remote error: Sallyport cannot judge pushes to SHA-256 repositories: nothing was sent.');
    expect(stderr).toContain('Push from outside the sandbox');
    expect(ground.upstream.pushes).toEqual([]);
  });

  test('and it is fetched as ever', async () => {
    const clone = await ground.sandbox.clone(repository.url);
    expect(await clone.tip('main')).toBe(tip);
  });
});
