// What the gateway asks a git server by itself for a push: nothing where nothing of the answer could refuse it, and what it
// knows from the pushes before not again. Counted at the server.
import { afterAll, describe, expect, test } from 'vitest';
import { expectPushed, openPushGround, type PushGround, type TestRepository } from '../support/push-ground.ts';

const grounds: PushGround[] = [];
afterAll(() => Promise.all(grounds.map((ground) => ground.stop())));

async function groundWith(policy: Record<string, unknown>): Promise<PushGround> {
  const ground = await openPushGround({ config: { policy } });
  grounds.push(ground);
  return ground;
}

/** In the order in which they came, without the repository: what git asks itself is `receive-pack`. */
function asked({ upstream }: PushGround, { name }: TestRepository): string[] {
  return upstream.requests.map(
    ({ method, url }) => `${method} ${url.replace(`/${name}.git`, '').replace(/^\/info/, 'info')}`,
  );
}

const advertisement = 'GET info/refs?service=git-receive-pack';
const question = 'POST /git-upload-pack';
const push = 'POST /git-receive-pack';

describe('a push is asked about no more than decides', () => {
  test('nothing where force pushes are allowed and nothing is protected', async () => {
    const ground = await groundWith({ allow_force_push: true, protected_branches: [], protected_paths: [] });
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'main', parents: [repository.main], files: { a: '1\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'main']));
    expect(asked(ground, repository)).toEqual([advertisement, push]);
    await clone.commit({ branch: 'main', parents: [repository.main], files: { a: '2\n' } });
    await expectPushed(ground, () => clone.run(['push', '--force', 'origin', 'main']));
    expect(asked(ground, repository)).toEqual([advertisement, push]);
  });

  test('of one that follows another, only where the refs are now', async () => {
    const ground = await groundWith({});
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'work', parents: [repository.main], files: { a: '1\n' } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'work']));
    expect(asked(ground, repository).filter((line) => line === question)).toHaveLength(3);
    for (const a of ['2\n', '3\n']) {
      await clone.commit({ branch: 'work', files: { a } });
      await expectPushed(ground, () => clone.run(['push', 'origin', 'work']));
      expect(asked(ground, repository)).toEqual([advertisement, question, push]);
    }
  });
});
