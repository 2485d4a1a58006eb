import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rejected, remoteWords } from '../support/git-sandbox.ts';
import { expectPushed, expectRefused, openPushGround, type PushGround } from '../support/push-ground.ts';

let ground: PushGround;

beforeAll(async () => {
  ground = await openPushGround();
});

afterAll(() => ground.stop());

describe('the refs of one push are judged together', () => {
  test('three hundred new branches arrive', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const tip = await clone.commit({ branch: 'work', parents: [repository.main], files: { w: 'w\n' } });
    const names = Array.from({ length: 300 }, (_, i) => `many/branch-${i}`);
    await clone.run(['update-ref', '--stdin'], names.map((name) => `create refs/heads/${name} ${tip}\n`).join(''));
    await expectPushed(ground, () => clone.run(['push', 'origin', 'refs/heads/many/*:refs/heads/many/*']));
    const refs = await repository.bare.refs();
    expect(names.filter((name) => refs[`refs/heads/${name}`] === tip)).toHaveLength(300);
  });

  test('three hundred branches move on, each by a commit of its own', async () => {
    const repository = await ground.repository();
    const names = Array.from({ length: 300 }, (_, i) => `many/branch-${i}`);
    const make = names.map((name) => `create refs/heads/${name} ${repository.main}\n`).join('');
    await repository.bare.run(['update-ref', '--stdin'], make);
    const clone = await ground.sandbox.clone(repository.url);
    const tree = await clone.git('rev-parse', `${repository.main}^{tree}`);
    const who = 'committer A U Thor <author@example.com> 1700000000 +0000\n';
    const script = names.map(
      (name) => `commit refs/heads/${name}\n${who}data ${name.length}\n${name}\nfrom ${repository.main}\n`,
    );
    await clone.run(['fast-import', '--quiet'], script.join('\n'));
    expect(await clone.git('rev-parse', 'many/branch-299^{tree}')).toBe(tree);
    await expectPushed(ground, () => clone.run(['push', 'origin', 'refs/heads/many/*:refs/heads/many/*']));
    const [there, here] = [await repository.bare.refs(), await clone.refs()];
    expect(names.filter((name) => there[`refs/heads/${name}`] === here[`refs/heads/${name}`])).toHaveLength(300);
  });

  test.each([['--atomic'], ['--no-atomic']])('all arrive with %s', async (option) => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const a = await clone.commit({ branch: 'a', parents: [repository.main], files: { a: 'a\n' } });
    const b = await clone.commit({ branch: 'b', parents: [repository.main], files: { b: 'b\n' } });
    await expectPushed(ground, () => clone.run(['push', option, 'origin', 'a', 'b']));
    expect(await repository.bare.refs()).toMatchObject({ 'refs/heads/a': a, 'refs/heads/b': b });
  });

  test.each([['--atomic'], ['--no-atomic']])(
    'one that is refused refuses all with %s, and every reason its commands give is told',
    async (option) => {
      const repository = await ground.repository();
      await repository.bare.git('tag', 'v1', 'main');
      await repository.bare.commit({ branch: 'old', parents: [repository.main], files: { o: 'o\n' } });
      const clone = await ground.sandbox.clone(repository.url);
      await clone.commit({ branch: 'fine', parents: [repository.main], files: { a: 'a\n' } });
      await clone.commit({ branch: 'old', parents: [repository.main], files: { o: 'p\n' } });
      await clone.commit({ branch: 'main', files: { m: 'm\n' } });
      const run = await expectRefused(ground, repository, 'push.protected-branch', () =>
        clone.run([
          'push',
          '--force',
          option,
          'origin',
          'main',
          'fine',
          'old',
          'fine:refs/tags/v1',
          'fine:refs/notes/x',
        ]),
      );
      const reasons = rejected(run);
      expect(Object.keys(reasons).sort()).toEqual(['fine', 'main', 'old', 'refs/notes/x', 'v1']);
      // Whether `old` is rewritten is in the pack, which is not looked into where the commands decide.
      for (const ref of ['fine', 'old']) expect(reasons[ref]).toContain('another ref of this push was refused');
      expect(new Set(Object.values(reasons)).size).toBe(4);
      for (const ref of ['main', 'v1', 'refs/notes/x']) expect(remoteWords(run)).toContain(ref);
    },
  );
});
