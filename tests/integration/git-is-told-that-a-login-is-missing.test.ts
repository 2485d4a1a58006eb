// A git server asks for a login, and the gateway has none to give: git says why, and what to set, in place of "Authentication
// failed".
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPushGround, otherHost, otherLogin, type PushGround } from '../support/push-ground.ts';

let ground: PushGround;
beforeAll(async () => {
  ground = await openPushGround({
    config: {
      allow: [{ preset: 'github' }, { host: otherHost }],
      git: { hosts: [otherHost] },
    },
  });
  await ground.gateway.admin('DELETE', '/internal/credentials/github');
});
afterAll(() => ground.stop());

test.each([
  ['fetch', ['ls-remote']],
  ['fetch with a login of its own', ['ls-remote'], 'me:token@'],
])('a %s names the credential and the command', async (_what, words, login = '') => {
  const repository = await ground.repository();
  ground.upstream.forget();
  const run = await ground.sandbox.home.run([...words, repository.url.replace('://', `://${login}`)]);
  expect(run.code).toBe(128);
  expect(run.stderr).toMatch(
    /^remote: github\.com asks for a login, and this request has none: the credential github is not set/m,
  );
  expect(run.stderr).toMatch(/^remote: .*sallyport secret set github < FILE/m);
  expect(run.stderr).not.toMatch(/Authentication failed|could not read Username/);
  expect(new Set(ground.upstream.requests.map(({ login: sent }) => sent))).toEqual(new Set([null]));
  expect(await ground.lastRecord('/info/refs')).toMatchObject({ code: 'credential.missing', status: 502 });
});

test('where none is configured, git says what to write', async () => {
  const repository = await ground.repository();
  const own = repository.url.replace('github.com', otherHost).replace('://', `://${otherLogin}@`);
  const run = await ground.sandbox.home.run(['ls-remote', own]);
  expect(run.code).toBe(128);
  expect(run.stderr).toMatch(/^remote: git\.example\.com asks for a login.*: no credential is configured for it/m);
  expect(run.stderr).toMatch(/^remote: +hosts: \[git\.example\.com\]/m);
  expect(run.stderr).not.toContain('Authentication failed');
});
