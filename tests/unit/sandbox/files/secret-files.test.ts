import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostFiles } from '../../../../src/sandbox/files/host-files.ts';
import { findSecretFiles } from '../../../../src/sandbox/files/secret-files.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeAll(() => {
  ground = makeMountGround();
});
afterAll(() => ground.remove());

function namesIn(folder: string, hideEnvFiles = false): string[] {
  const search = findSecretFiles(folder, hostFiles, { hideEnvFiles });
  expect(search.complete).toBe(true);
  return search.found.map(({ path }) => path.slice(folder.length + 1)).sort();
}

describe('a search for files with credentials', () => {
  test.each([
    ['.netrc', 'machine a login b password c'],
    ['deep/down/here/.netrc', ''],
    ['.git-credentials', ''],
    ['.npmrc', '//registry.example/:_authToken=abcdef'],
    ['.yarnrc.yml', 'npmAuthToken: "abcdef"'],
    ['pip.conf', '[global]\nindex-url = https://me:word@packages.example/simple'],
    ['auth.json', '{"http-basic": {}}'],
    ['.docker/config.json', '{"auths": {}}'],
    ['.aws/credentials', '[default]\naws_secret_access_key = x'],
    ['.kube/config', 'users:\n- user:\n    token: x'],
    ['keys/id_ed25519', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    ['service-account.json', '{"private_key": "-----BEGIN PRIVATE KEY-----"}'],
    ['NuGet.Config', '<add key="ClearTextPassword" value="x" />'],
  ])('finds %s', (name, content) => {
    const folder = ground.folder(`found/${name.replaceAll('/', '-')}`);
    ground.file(`${folder}/${name}`, content);
    expect(namesIn(folder)).toEqual([name]);
  });

  test.each([
    ['.npmrc', `//registry.example/:_authToken=\${NPM_TOKEN}\nsave-exact=true`],
    ['.yarnrc.yml', 'nodeLinker: node-modules'],
    ['pip.conf', '[global]\nindex-url = https://packages.example/simple'],
    ['auth.json', '{"routes": []}'],
    ['config.json', '{"auths": {}}'],
    ['id_ed25519', 'a file of another kind'],
    ['.env', 'A=1'],
    ['node_modules/x/.netrc', ''],
    ['.git/.netrc', ''],
  ])('leaves %s alone when it holds none', (name, content) => {
    const folder = ground.folder(`left/${name.replaceAll('/', '-')}`);
    ground.file(`${folder}/${name}`, content);
    expect(namesIn(folder)).toEqual([]);
  });

  test('takes .env files only when asked to, and never their templates', () => {
    const folder = ground.folder('env');
    for (const name of ['.env', 'api/.env.local', '.env.example', 'env', '.environment'])
      ground.file(`${folder}/${name}`);
    expect(namesIn(folder)).toEqual([]);
    expect(namesIn(folder, true)).toEqual(['.env', 'api/.env.local']);
  });

  test('finds sockets, and does not follow links', async () => {
    const folder = ground.folder('odd');
    await ground.socket(`${folder}/agent.sock`);
    ground.link(`${folder}/.netrc`, '/etc/hostname');
    expect(namesIn(folder)).toEqual(['agent.sock']);
  });

  test('says when it did not see everything, and has then seen what lies nearest', () => {
    const folder = ground.folder('large');
    ground.file(`${folder}/.netrc`);
    for (let i = 0; i < 20; i++) ground.file(`${folder}/sub/${i}/file`);
    const few = { maxEntries: 5, maxMs: 1000 };
    const search = findSecretFiles(folder, hostFiles, { hideEnvFiles: false, limits: few });
    expect(search).toMatchObject({ complete: false, found: [{ path: `${folder}/.netrc` }] });
    let clock = 0;
    const slow = { hideEnvFiles: false, limits: { maxEntries: 1000, maxMs: 3 }, now: () => clock++ };
    expect(findSecretFiles(folder, hostFiles, slow).complete).toBe(false);
  });
});
