import { describe, expect, test } from 'vitest';
import { defaultEffects } from '../../../src/path/github-effects.ts';
import { permissionsFor } from '../../../src/policy/app-permissions.ts';
import { describePolicy } from '../../../src/policy/explain/explain-policy.ts';
import { errorsOf, policyOf } from './pretend-machine.ts';

const messages = async (credentials: string): Promise<string> =>
  (await errorsOf(`version: 1\nallow: [{preset: github}, {host: ghe.example.com}]\ncredentials: ${credentials}\n`))
    .map(({ path, message }) => `${path}: ${message}`)
    .join('\n');

describe('a GitHub App as the credential of GitHub', () => {
  test('needs its id and a source of its private key; the rest has defaults', async () => {
    const policy = await policyOf(`version: 1
allow: [{preset: github}]
credentials:
  github: { app: { id: 12345, private_key: { file: /run/secrets/app.pem } } }
`);
    const spec = policy.credentials.get('github')!;
    expect(spec.source).toEqual({
      kind: 'github-app',
      appId: '12345',
      privateKey: { kind: 'file', path: '/run/secrets/app.pem' },
      installation: null,
      permissions: null,
      usable: permissionsFor(defaultEffects),
      api: { host: 'api.github.com', prefix: '' },
    });
    expect(spec.anonymous).toBe(true);
    expect(describePolicy(policy, () => true).join()).toContain('credential github: set, from a GitHub App');
  });

  test('takes an installation, permissions and a client id', async () => {
    const policy = await policyOf(`version: 1
allow: [{preset: github}]
credentials:
  github:
    app:
      id: Iv23liABC
      private_key: { command: [pass, show, app] }
      installation: 678
      permissions: { contents: read, pull_requests: write }
`);
    expect(policy.credentials.get('github')!.source).toMatchObject({
      appId: 'Iv23liABC',
      privateKey: { kind: 'command' },
      installation: 678,
      permissions: { contents: 'read', pull_requests: 'write' },
    });
  });

  test('a key from the environment is an opt-in, with a warning', async () => {
    expect(await messages('{github: {app: {id: 1, private_key: {env: KEY}}}}')).toContain('i_accept_environment');
    const policy = await policyOf(`version: 1
allow: [{preset: github}]
credentials: {github: {app: {id: 1, private_key: {env: APP_KEY, i_accept_environment: true}}}}
`);
    expect(policy.warnings.join()).toContain('APP_KEY');
  });

  test.each([
    [
      'a key written into the file',
      '{github: {app: {id: 1, private_key: "PEM-TEXT"}}}',
      'never written into this file',
    ],
    ['a key under another name', '{github: {app: {id: 1, key: "PEM-TEXT"}}}', 'never written into this file'],
    ['no key', '{github: {app: {id: 1}}}', 'private_key'],
    ['no id', '{github: {app: {private_key: {file: /k}}}}', 'App ID'],
    [
      'a permission that is no level',
      '{github: {app: {id: 1, private_key: {file: /k}, permissions: {contents: all}}}}',
      'read, write or admin',
    ],
    ['no permission', '{github: {app: {id: 1, private_key: {file: /k}, permissions: {}}}}', 'at least one permission'],
    ['a source beside the App', '{github: {app: {id: 1, private_key: {file: /k}}, source: {file: /t}}}', 'not both'],
    ['an App of another provider', '{anthropic: {app: {id: 1, private_key: {file: /k}}}}', 'only GitHub has Apps'],
    ['an unknown key', '{github: {app: {id: 1, private_key: {file: /k}, installaton: 5}}}', 'installation'],
  ])('%s is an error that says what to write', async (_, credentials, words) => {
    const told = await messages(credentials);
    expect(told).toContain(words);
    expect(told).not.toContain('PEM-TEXT');
  });
});

describe('a GitHub App on an Enterprise host', () => {
  test('is a credential of its own: API and git of that host, placed and stripped as on github.com', async () => {
    const policy = await policyOf(`version: 1
allow: [{host: ghe.example.com}]
github: {hosts: [ghe.example.com]}
credentials:
  ghe: { hosts: ghe.example.com, app: { id: 7, private_key: { file: /k } } }
`);
    const [spec] = policy.credentialsFor('ghe.example.com');
    expect(spec!.source).toMatchObject({ appId: '7', api: { host: 'ghe.example.com', prefix: '/api/v3' } });
    const injectionFor = (path: string) =>
      spec!.placements.find(({ paths }) => paths!.some((pattern) => pattern.covers(path)))?.injection;
    expect(injectionFor('/api/v3/repos/a/b')).toMatchObject({ prefix: 'Bearer ' });
    expect(injectionFor('/api/graphql')).toMatchObject({ prefix: 'Bearer ' });
    expect(injectionFor('/a/b/info/refs')).toEqual({ kind: 'basic', username: 'x-access-token' });
    expect(injectionFor('/login')).toBeUndefined();
    expect(spec!.stripHeaders).toEqual(expect.arrayContaining(['authorization', 'cookie', 'x-github-otp']));
    expect(policy.credentialsFor('github.com').map(({ name }) => name)).not.toContain('ghe');
  });

  test.each([
    ['two hosts', '{g: {hosts: [ghe.example.com, b.example.com], app: {id: 1, private_key: {file: /k}}}}', 'each host'],
    ['a wildcard', '{g: {hosts: "*.example.com", app: {id: 1, private_key: {file: /k}}}}', 'wildcard'],
    ['github.com', '{g: {hosts: github.com, app: {id: 1, private_key: {file: /k}}}}', 'credentials.github'],
    [
      'a form of its own',
      '{g: {hosts: ghe.example.com, inject: {bearer: true}, app: {id: 1, private_key: {file: /k}}}}',
      'inject',
    ],
    ['a bad App', '{g: {hosts: ghe.example.com, app: {id: 1}}}', 'private_key'],
  ])('%s is an error', async (_, credentials, words) => {
    expect(await messages(credentials)).toContain(words);
  });
});
