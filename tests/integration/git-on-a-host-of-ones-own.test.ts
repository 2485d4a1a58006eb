import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitFolder } from '../support/git-folder.ts';
import { rejected } from '../support/git-sandbox.ts';
import { openPushGround, otherHost, otherLogin, type PushGround } from '../support/push-ground.ts';

let ground: PushGround;
let bare: GitFolder;
const url = `https://${otherHost}/acme/own.git`;

beforeAll(async () => {
  ground = await openPushGround({
    config: {
      allow: [{ host: otherHost }],
      git: { hosts: [otherHost] },
      credentials: { own: { hosts: [otherHost], inject: { basic: { username: 'robot' } } }, github: {} },
    },
  });
  await ground.gateway.setSecret('own', otherLogin.slice('robot:'.length));
  bare = await ground.upstream.create('acme/own');
  await bare.commit({ branch: 'main', files: { a: 'a\n' } });
});

afterAll(() => ground.stop());

describe('a git host that the operator named is treated as one', () => {
  test('clone and push with the credential of that host', async () => {
    ground.upstream.forget();
    const clone = await ground.sandbox.clone(url);
    const tip = await clone.commit({ branch: 'feature', parents: ['main'], files: { f: 'f\n' } });
    const run = await clone.run(['push', 'origin', 'feature']);
    expect(run.stderr).toContain('[new branch]');
    expect(await bare.tip('feature')).toBe(tip);
    expect(ground.upstream.requests.every(({ host, login }) => host === otherHost && login === true)).toBe(true);
  });

  test('a push there is judged', async () => {
    const clone = await ground.sandbox.clone(url);
    await clone.commit({ branch: 'main', files: { f: 'f\n' } });
    ground.upstream.forget();
    const run = await clone.run(['push', 'origin', 'main']);
    expect(Object.keys(rejected(run))).toEqual(['main']);
    expect(ground.upstream.pushes).toEqual([]);
    expect(await ground.lastRecord('/git-receive-pack')).toMatchObject({
      code: 'push.protected-branch',
      host: otherHost,
    });
  });

  test('a repository of somebody else is not reached', async () => {
    await ground.upstream.create('other/secret');
    ground.upstream.forget();
    const run = await ground.sandbox.home.run(['ls-remote', `https://${otherHost}/other/secret.git`]);
    expect(run.code).toBe(128);
    expect(run.stderr).toMatch(/^remote: other\/secret is not among the repositories of sbx_/m);
    expect(ground.upstream.requests).toEqual([]);
  });
});
