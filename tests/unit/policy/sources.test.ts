// Sources of credentials as they stand in the document: what each form means, and what is wrong with the others.
import { describe, expect, test } from 'vitest';
import type { SourceSpec } from '../../../src/policy/compiled.ts';
import { errorsOf, policyOf } from './pretend-machine.ts';

const head = 'version: 1\nallow: [{preset: anthropic}, {preset: openai}, {preset: google}, {host: api.example.com}]\n';
const own = (source: string): string =>
  `${head}credentials: {own: {hosts: api.example.com, inject: {bearer: true}, source: ${source}}}\n`;

async function sourceOf(source: string): Promise<SourceSpec> {
  return (await policyOf(own(source))).credentials.get('own')!.source;
}

async function problems(text: string): Promise<string> {
  return (await errorsOf(text)).map(({ path, message }) => `${path}: ${message}`).join('\n');
}

describe('a plain source', () => {
  test('may be a command that gets variables by name', async () => {
    expect(await sourceOf('{command: [vault, kv, get, -field=token, secret/x], pass_env: [VAULT_ADDR]}')).toEqual({
      kind: 'command',
      argv: ['vault', 'kv', 'get', '-field=token', 'secret/x'],
      ttlSeconds: 300,
      passEnv: ['VAULT_ADDR'],
    });
    expect(await problems(own('{file: /x, pass_env: [A]}'))).toContain('`pass_env` goes with `command` only');
    expect(await problems(own('{command: [x], pass_env: ["A B"]}'))).toContain('the name of a variable');
  });

  test('may be a file encrypted with age, opened by an identity or a passphrase and not by both or neither', async () => {
    expect(await sourceOf('{age: {file: /s.age, identity: {file: /id.txt}}}')).toEqual({
      kind: 'age',
      path: '/s.age',
      identity: { kind: 'file', path: '/id.txt' },
      passphrase: null,
    });
    expect(await sourceOf('{age: {file: /s.age, passphrase: {command: [pass, age]}}}')).toMatchObject({
      identity: null,
      passphrase: { kind: 'command' },
    });
    expect(await problems(own('{age: {file: /s.age}}'))).toContain('what opens it');
    expect(await problems(own('{age: {file: /s.age, identity: {file: /a}, passphrase: {file: /b}}}'))).toContain(
      'opens',
    );
    expect(await problems(own('{age: {file: s.age, identity: AGE-SECRET-KEY-1}}'))).toMatch(
      /source\.age\.file: .*absolute[\s\S]*source\.age\.identity: a secret is never written into this file/,
    );
  });

  test('may be an entry of the keyring', async () => {
    expect(await sourceOf('{keyring: {service: example, account: me}}')).toEqual({
      kind: 'keyring',
      attributes: [
        ['service', 'example'],
        ['account', 'me'],
      ],
    });
    expect(await problems(own('{keyring: {}}'))).toContain('what to look for');
  });

  test('is one: two are an error that names them', async () => {
    expect(await problems(own('{file: /x, keyring: {service: y}}'))).toContain('one source, not file and keyring');
    expect(await problems(own('{oauth: {}, file: /x}'))).toContain('one source, not file and oauth');
  });
});

describe('what is wrong in a part of a source', () => {
  test.each([
    ['{oauth: {token_uri: x}}', 'own.source.oauth.token_uri: unknown key: did you mean `token_url`?'],
    ['{oauth: {grant: refresh_token}}', 'own.source.oauth.token_url: `token_url` is missing: write the https address'],
    ['{google_service_account: {file: /k}}', 'own.source.google_service_account.key: `key` is missing'],
    ['{age: {file: /s.age, identity: {fiel: /i}}}', 'own.source.age.identity.fiel: unknown key: did you mean `file`?'],
    ['{aws_profile: {profil: a}}', 'own.source.aws_profile.profil: unknown key: did you mean `profile`?'],
  ])('%s is said with its name and its place', async (source, problem) => {
    expect(await problems(own(source))).toContain(problem);
  });

  test('is never to be set by hand: there is no such command for a part', async () => {
    for (const part of ['AGE-SECRET-KEY-1', '{}', '{value: x}']) {
      const said = await problems(own(`{age: {file: /s.age, identity: ${part}}}`));
      expect(said).toContain('write {file: /absolute/path} or {command: [program, argument]}');
      expect(said).not.toContain('secret set');
    }
  });
});

describe('a login', () => {
  const login = (name: string, source: string): string => `${head}credentials: {${name}: {source: ${source}}}\n`;

  test('of an agent goes with the credential that is for it', async () => {
    const policy = await policyOf(login('anthropic', '{login: claude}'));
    expect(policy.credentials.get('anthropic')!.source).toEqual({
      kind: 'login',
      agent: 'claude',
      path: null,
      provider: null,
    });
    expect(await problems(login('anthropic', '{login: codex}'))).toContain(
      'is not for this credential (claude or opencode',
    );
    expect(await problems(login('openai', '{login: codex}'))).toContain('(no agent is)');
    expect(await problems(own('{login: claude}'))).toContain('(no agent is)');
    expect(await problems(login('anthropic', '{login: chatbot}'))).toContain('login: claude');
  });

  test('of opencode knows the entry of its file by the credential, or by name', async () => {
    const found = await policyOf(login('chatgpt', '{login: {agent: opencode, file: /a.json}}'));
    expect(found.credentials.get('chatgpt')!.source).toMatchObject({ path: '/a.json', provider: 'openai' });
    const named = await policyOf(login('chatgpt', '{login: {agent: opencode, provider: mine}}'));
    expect(named.credentials.get('chatgpt')!.source).toMatchObject({ provider: 'mine' });
    expect(await problems(login('anthropic', '{login: {agent: claude, provider: x}}'))).toContain('opencode` only');
  });

  test('goes out in another form than a key, and has endpoints that are not forwarded to', async () => {
    const { login: use } = (await policyOf(head)).credentials.get('anthropic')!;
    expect(use).toMatchObject({
      injection: { kind: 'header', header: 'Authorization', prefix: 'Bearer ' },
      listed: [['anthropic-beta', 'oauth-2025-04-20']],
    });
    expect(use!.tokenEndpoints).toContainEqual({
      host: 'platform.claude.com',
      path: '/v1/oauth/token',
      answers: 'claude',
    });
  });
});

describe('OAuth by configuration', () => {
  test('a refresh token: the client, the endpoint, the form of the body', async () => {
    const text = `{oauth: {token_url: "https://auth.example.com:8443/t?x=1", grant: refresh_token, client_id: me,
      client_secret: {file: /s}, client_auth: post, refresh_token: {file: /r}, scope: "a b", parameters: {audience: api}, body: json}}`;
    expect(await sourceOf(text)).toEqual({
      kind: 'oauth',
      grant: 'refresh_token',
      tokenUrl: { host: 'auth.example.com', port: 8443, target: '/t?x=1' },
      clientId: 'me',
      clientSecret: { kind: 'file', path: '/s' },
      clientAuth: 'post',
      refreshToken: { kind: 'file', path: '/r' },
      scope: 'a b',
      parameters: [['audience', 'api']],
      body: 'json',
    });
    const spec = (await policyOf(own(text))).credentials.get('own')!;
    expect(spec.login!.tokenEndpoints).toEqual([{ host: 'auth.example.com', path: '/t', answers: 'generic' }]);
  });

  test('client credentials prove themselves by Basic unless told otherwise', async () => {
    const text =
      '{oauth: {token_url: "https://a.example/t", grant: client_credentials, client_id: me, client_secret: {file: /s}}}';
    expect(await sourceOf(text)).toMatchObject({ clientAuth: 'basic', refreshToken: null, body: 'form' });
  });

  test.each([
    ['{token_url: "http://a.example/t", grant: refresh_token, refresh_token: {file: /r}}', 'https address'],
    ['{token_url: "https://u:p@a.example/t", grant: refresh_token, refresh_token: {file: /r}}', 'https address'],
    ['{token_url: "https://a.example/t#x", grant: refresh_token, refresh_token: {file: /r}}', 'https address'],
    ['{token_url: "https://a.example/t", grant: refresh_token}', 'needs refresh_token'],
    [
      '{token_url: "https://a.example/t", grant: client_credentials, client_id: me}',
      'needs client_id and client_secret',
    ],
    ['{token_url: "https://a.example/t", grant: password}', 'refresh_token or client_credentials'],
    [
      '{token_url: "https://a.example/t", grant: refresh_token, refresh_token: 1//0g-a-real-one}',
      'a secret is never written into this file',
    ],
    [
      '{token_url: "https://a.example/t", grant: refresh_token, refresh_token: {file: /r}, client_auth: post}',
      'client_secret',
    ],
  ])('%s is an error', async (oauth, problem) => {
    const said = await problems(own(`{oauth: ${oauth}}`));
    expect(said).toContain(problem);
    expect(said).not.toContain('a-real-one');
  });

  test('a service account of Google has a key from a plain source, and scopes', async () => {
    const policy = await policyOf(
      `${head}credentials: {vertex: {source: {google_service_account: {key: {file: /k.json}, subject: me@example.com}}}}\n`,
    );
    expect(policy.credentials.get('vertex')!.source).toEqual({
      kind: 'google-service-account',
      key: { kind: 'file', path: '/k.json' },
      scopes: ['https://www.googleapis.com/auth/cloud-platform'],
      subject: 'me@example.com',
    });
  });

  test.each([
    '{google_service_account: {key: ENV}}',
    '{age: {file: /s.age, identity: ENV}}',
    '{age: {file: /s.age, passphrase: ENV}}',
    '{oauth: {token_url: "https://a.example/t", grant: refresh_token, refresh_token: ENV}}',
    '{oauth: {token_url: "https://a.example/t", grant: client_credentials, client_id: a, client_secret: ENV}}',
  ])('%s: a part that is read from the environment is warned about like a whole', async (source) => {
    const { warnings } = await policyOf(own(source.replace('ENV', '{env: MINE, i_accept_environment: true}')));
    expect(warnings.join()).toContain('credential own is read from the environment variable MINE');
  });
});

describe('keys of AWS', () => {
  const aws = (inject: string, source: string): string =>
    `${head}credentials: {mine: {hosts: my.s3.eu-west-1.amazonaws.com, inject: ${inject}, source: ${source}}}\n`;

  test('come from a profile, or from a plain source, where requests are signed', async () => {
    const policy = await policyOf(aws('{sigv4: true}', '{aws_profile: work}'));
    expect(policy.credentials.get('mine')).toMatchObject({
      source: { kind: 'aws-profile', profile: 'work', path: null },
      placements: [{ injection: { kind: 'sigv4' } }],
      stripHeaders: expect.arrayContaining(['authorization']),
    });
    expect((await policyOf(aws('{sigv4: true}', '{file: /k}'))).credentials.has('mine')).toBe(true);
  });

  test('are not for other places, and no token is a pair of keys', async () => {
    expect(await problems(aws('{bearer: true}', '{aws_profile: work}'))).toContain('sigv4: true');
    const token = '{oauth: {token_url: "https://a.example/t", grant: refresh_token, refresh_token: {file: /r}}}';
    expect(await problems(aws('{sigv4: true}', token))).toContain('pair of keys');
  });

  test('are not for hosts of which none would be signed', async () => {
    const elsewhere =
      'credentials: {mine: {hosts: ["*.s3.eu-west-1.amazonaws.com", s3.example.com], inject: {sigv4: true}}}\n';
    expect(await problems(head + elsewhere)).toMatch(/^credentials\.mine\.hosts: .*hosts of AWS only/);
  });
});

describe('the section `secrets`', () => {
  test('has the strict settings by default', async () => {
    expect((await policyOf(head)).secrets).toEqual({
      scrub: true,
      misplaced: 'refuse',
      conversations: 'record',
      searchedBodyBytes: 16 * 1024 * 1024,
      injectedBodyBytes: 1024 * 1024,
    });
  });

  test('is read, and errors say what to write', async () => {
    const text = 'secrets: {scrub: false, misplaced: revoke, conversations: refuse, searched_body_bytes: 0}\n';
    expect((await policyOf(head + text)).secrets).toEqual({
      scrub: false,
      misplaced: 'revoke',
      conversations: 'refuse',
      searchedBodyBytes: 0,
      injectedBodyBytes: 1024 * 1024,
    });
    expect((await policyOf(head + text)).warnings.join()).toContain('secrets.scrub');
    expect(await problems(`${head}secrets: {misplaced: ignore}\n`)).toContain('write refuse, or revoke');
  });

  test('a conversation is decrypted', async () => {
    expect(await problems('version: 1\nallow: [{host: a.example.com, tunnel: true, conversation: true}]\n')).toContain(
      '`conversation` cannot be checked',
    );
  });
});

describe('where a credential goes', () => {
  test.each(['User-Agent', 'x_request_id', 'Accept-Language', 'Referer'])(
    'is never %s, which upstreams send back',
    async (name) => {
      const text = `${head}credentials: {own: {hosts: api.example.com, inject: {header: ${name}}}}\n`;
      expect(await problems(text)).toContain('send this field back');
    },
  );
});
