import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { logsHost } from '../support/fake-github.ts';
import { expectDone, expectRefused, type GhGround, openGhGround } from '../support/fake-github-ground.ts';

let ground: GhGround;
const logs = 'repos/acme/widgets/actions/runs/501/logs';

beforeAll(async () => {
  ground = await openGhGround({ allow: [{ preset: 'github' }, { host: logsHost, methods: ['GET'] }] });
});

afterAll(() => ground.stop());

describe('where GitHub sends gh to, the door is in the way again', () => {
  test('logs are read from the storage that the operator allowed, which gets no token', async () => {
    ground.github.redirects.set(`/${logs}`, `https://${logsHost}/501?signature=abc`);
    ground.github.forget();
    const run = await ground.gh(['api', logs]);
    expect(run).toMatchObject({ code: 0, stdout: 'all widgets were built\n' });
    expect(ground.github.seen.map(({ host, login }) => [host, login])).toEqual([
      ['api.github.com', true],
      [logsHost, null],
    ]);
  });

  test('a storage that nobody allowed is not reached', async () => {
    ground.github.redirects.set(`/${logs}`, 'https://other-logs.example.net/501');
    const expected = { says: 'other-logs.example.net is not on the allowlist', code: 'domain.not-allowed' };
    await expectRefused(ground, ['api', logs], expected);
  });

  test('an issue that was moved to another repository is not followed there', async () => {
    const moved = '/repos/acme/widgets/issues/77';
    ground.github.redirects.set(moved, 'https://api.github.com/repositories/815/issues/1');
    const expected = { says: 'is not among the repositories of', code: 'repo.not-allowed' };
    const run = await expectRefused(ground, ['api', moved.slice(1)], expected);
    // The second is the gateway's own question.
    expect(ground.github.seen.map(({ url }) => url)).toEqual([moved, '/repositories/815']);
    expect(run.stdout).not.toContain('A foreign secret');
  });

  test('a repository that has a new name is followed only if it is the same one', async () => {
    ground.github.redirects.set('/repos/acme/widgets/labels', 'https://api.github.com/repos/other/private/labels');
    const expected = { says: 'other/private is not among', code: 'repo.not-allowed' };
    await expectRefused(ground, ['api', 'repos/acme/widgets/labels'], expected);
    ground.github.redirects.set('/repos/acme/widgets/labels', 'https://api.github.com/repositories/4711/issues');
    expect(await expectDone(ground, ['api', 'repos/acme/widgets/labels', '--jq', '.[0].title'])).toBe(
      'The left widget squeaks\n',
    );
  });
});
