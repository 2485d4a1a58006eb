import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reveal } from '../../../../../src/path/secret.ts';
import type { OAuthPorts } from '../../../../../src/stages/inject/logins/oauth-source.ts';
import { TakenEnvironment } from '../../../../../src/stages/inject/sources/environment-source.ts';
import { type UserKey, UserKeys } from '../../../../../src/stages/inject/sources/user-keys.ts';

let home: string;
let workingDirectory: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-user-'));
  workingDirectory = join(home, 'project');
  mkdirSync(workingDirectory);
});
afterEach(() => rmSync(home, { recursive: true }));

function put(path: string, content: object | string, mode = 0o600): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content), { mode });
  chmodSync(file, mode);
}

function find(name: string, env: NodeJS.ProcessEnv = {}): UserKey {
  return new UserKeys({ home, workingDirectory, env }).find(name, new TakenEnvironment(env));
}

function told({ source, origin, problem }: UserKey): readonly (string | null)[] {
  const secret = source?.current(null) ?? null;
  if (secret instanceof Promise) throw new Error('a key has to be at hand');
  return [secret === null ? null : reveal(secret), origin, problem];
}

const nothing = [null, null, null];

describe('the environment comes first', () => {
  test('and gives up every variable of the credential, so that nothing we start inherits one', () => {
    const env = { OPENAI_API_KEY: 'sk-one', CODEX_API_KEY: 'sk-two', OTHER: 'stays' };
    put('.codex/auth.json', { OPENAI_API_KEY: 'sk-file' });
    expect(told(find('openai', env))).toEqual(['sk-one', 'environment OPENAI_API_KEY', null]);
    expect(env).toEqual({ OTHER: 'stays' });
  });

  test('a variable that is empty counts as not set', () => {
    expect(told(find('openai', { OPENAI_API_KEY: '', CODEX_API_KEY: 'sk-two' }))).toEqual([
      'sk-two',
      'environment CODEX_API_KEY',
      null,
    ]);
  });

  test('a variable that holds no key is left alone in words, without its value', () => {
    const { source, problem } = find('openai', { OPENAI_API_KEY: 'two\nlines' });
    expect(source).toBeNull();
    expect(problem).toMatch(/^environment OPENAI_API_KEY holds a control character/);
    expect(problem).not.toContain('lines');
  });
});

describe('the files in which agents keep a key', () => {
  test.each<[string, string, object | string]>([
    ['anthropic', '.claude.json', { primaryApiKey: 'the-key', oauthAccount: {} }],
    ['openai', '.codex/auth.json', { auth_mode: 'apikey', OPENAI_API_KEY: 'the-key' }],
    ['google', '.gemini/.env', '# mine\nOTHER=1\nexport GEMINI_API_KEY="the-key" # work\n'],
    ['google', '.gemini/.env', "GEMINI_API_KEY = 'the-key'\n"],
    ['google', '.gemini/.env', 'GEMINI_API_KEY=the-key # work\r\n'],
    ['mistral', '.local/share/opencode/auth.json', { mistral: { type: 'api', key: 'the-key' } }],
    ['github', '.config/gh/hosts.yml', 'github.com:\n  user: ada\n  oauth_token: the-key\n  git_protocol: https\n'],
  ])('%s from ~/%s', (name, path, content) => {
    put(path, content);
    expect(told(find(name))).toEqual(['the-key', `~/${path}`, null]);
  });

  test.each<[string, string, object | string]>([
    ['anthropic', '.claude.json', { oauthAccount: { accessToken: 'a-login' } }],
    ['anthropic', '.claude/.credentials.json', { claudeAiOauth: { accessToken: 'a', refreshToken: 'a-login' } }],
    ['openai', '.codex/auth.json', { OPENAI_API_KEY: null, tokens: { access_token: 'a', refresh_token: 'a-login' } }],
    ['anthropic', '.local/share/opencode/auth.json', { anthropic: { type: 'oauth', refresh: 'a-login', key: 'no' } }],
    ['google', '.gemini/oauth_creds.json', { refresh_token: 'a-login' }],
    ['google', '.gemini/.env', 'NOT_GEMINI_API_KEY=x\n#GEMINI_API_KEY=x\nGEMINI_API_KEY=\n'],
    ['github', '.config/gh/hosts.yml', 'ghe.example:\n  oauth_token: another-host\n'],
    ['my-own-api', '.claude.json', { primaryApiKey: 'the-key' }],
  ])('%s: a login or something else in ~/%s is not taken for a key', (name, path, content) => {
    put(path, content);
    expect(told(find(name))).toEqual(nothing);
  });

  test('one that is not what its agent writes is left alone, and the next is looked at', () => {
    put('.claude.json', 'sk-ant-not-json');
    expect(told(find('anthropic'))).toEqual([
      null,
      null,
      '~/.claude.json was left alone: it is not what its agent writes',
    ]);
    put('.local/share/opencode/auth.json', { anthropic: { type: 'api', key: 'the-key' } });
    expect(told(find('anthropic'))).toEqual(['the-key', '~/.local/share/opencode/auth.json', null]);
  });

  test('the answer stays the same however often it is asked for', () => {
    const keys = new UserKeys({ home, workingDirectory, env: {} });
    const environment = new TakenEnvironment({});
    expect(keys.find('openai', environment).source).toBeNull();
    put('.codex/auth.json', { OPENAI_API_KEY: 'late' });
    expect(keys.find('openai', environment).source).toBeNull();
  });
});

describe('gh with a keyring', () => {
  const loggedIn = 'github.com:\n  users:\n    ada:\n  user: ada\n';

  function plantGh(folder: string, script: string): string {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'gh'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return folder;
  }

  test('is asked for the token of github.com, and sees none of our variables', () => {
    put('.config/gh/hosts.yml', loggedIn);
    const PATH = plantGh(join(home, 'bin'), 'echo "$* [$ANTHROPIC_API_KEY] $HOME"');
    const found = told(find('github', { PATH, ANTHROPIC_API_KEY: 'sk-ant' }));
    expect(found).toEqual([`auth token --hostname github.com [] ${home}`, 'gh auth token', null]);
  });

  test('that has no token to give is no key and no fault', () => {
    put('.config/gh/hosts.yml', loggedIn);
    const PATH = plantGh(join(home, 'bin'), 'echo "no oauth token" >&2; exit 1');
    expect(told(find('github', { PATH }))).toEqual(nothing);
  });

  test('is not started where nobody is logged in', () => {
    const PATH = plantGh(join(home, 'bin'), 'echo the-key');
    expect(told(find('github', { PATH }))).toEqual(nothing);
  });

  test('is not there at all', () => {
    put('.config/gh/hosts.yml', loggedIn);
    expect(told(find('github', { PATH: join(home, 'bin') }))).toEqual(nothing);
  });

  test('is never one that lies in the working directory, where agents write', () => {
    put('.config/gh/hosts.yml', loggedIn);
    const planted = plantGh(join(workingDirectory, 'node_modules/.bin'), 'echo planted');
    const linked = join(home, 'linked');
    symlinkSync(planted, linked);
    const half = join(home, 'half');
    mkdirSync(half);
    symlinkSync(join(planted, 'gh'), join(half, 'gh'));
    const good = plantGh(join(home, 'bin'), 'echo good');
    const chosen = join(workingDirectory, 'chosen');
    mkdirSync(chosen);
    symlinkSync(join(good, 'gh'), join(chosen, 'gh'));
    const near = relative(process.cwd(), good);
    for (const PATH of [planted, linked, half, chosen, near, ''])
      expect(told(find('github', { PATH })), PATH).toEqual(nothing);
    expect(told(find('github', { PATH: `${planted}:${good}` }))[0]).toBe('good');
  });
});

describe('the logins of the user', () => {
  const noted: string[] = [];
  const logins: OAuthPorts = {
    call: async () => ({
      status: 200,
      body: Buffer.from('{"access_token":"renewed-token","token_type":"Bearer","expires_in":3600}'),
    }),
    report: () => {},
    note: (secret) => noted.push(reveal(secret)),
  };
  const soon = Date.now() + 3_600_000;
  const opencode = '.local/share/opencode/auth.json';

  function findLogin(name: string, env: NodeJS.ProcessEnv = {}): UserKey {
    return new UserKeys({ home, workingDirectory, env, logins }).find(name, new TakenEnvironment(env));
  }

  test.each<[string, string, string, object]>([
    [
      'anthropic',
      '.claude/.credentials.json',
      'Claude login',
      { claudeAiOauth: { accessToken: 'the-token', refreshToken: 'r', expiresAt: soon } },
    ],
    [
      'anthropic',
      opencode,
      'Claude login',
      { anthropic: { type: 'oauth', access: 'the-token', refresh: 'r', expires: soon } },
    ],
    ['chatgpt', '.codex/auth.json', 'ChatGPT login', { tokens: { access_token: 'the-token', refresh_token: 'r' } }],
    [
      'chatgpt',
      opencode,
      'ChatGPT login',
      { openai: { type: 'oauth', access: 'the-token', refresh: 'r', expires: soon } },
    ],
    [
      'gemini',
      '.gemini/oauth_creds.json',
      'Google login',
      { access_token: 'the-token', refresh_token: 'r', expiry_date: soon },
    ],
    [
      'copilot',
      opencode,
      'GitHub Copilot login',
      { 'github-copilot': { type: 'oauth', access: 'x', refresh: 'the-token', expires: 0 } },
    ],
  ])('%s from ~/%s (%s)', (name, path, words, content) => {
    put(path, content);
    const found = findLogin(name);
    expect(told(found)).toEqual(['the-token', `${words} in ~/${path}`, null]);
    expect(found.source?.current(null)).toMatchObject({ login: true });
    expect(noted).toContain('the-token');
    // Without the means to renew one, none is used.
    expect(told(find(name))).toEqual(nothing);
  });

  test('come after the keys, and the agent of the house before opencode', () => {
    put(opencode, { anthropic: { type: 'oauth', access: 'of-opencode', refresh: 'r', expires: soon } });
    put('.claude/.credentials.json', {
      claudeAiOauth: { accessToken: 'of-claude', refreshToken: 'r', expiresAt: soon },
    });
    expect(told(findLogin('anthropic'))[0]).toBe('of-claude');
    put('.claude.json', { primaryApiKey: 'a-key' });
    expect(told(findLogin('anthropic'))).toEqual(['a-key', '~/.claude.json', null]);
  });

  test('one in the environment is a login that is not renewed, behind a key and before the files', () => {
    put('.claude.json', { primaryApiKey: 'a-key' });
    const env = { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-x' };
    const found = findLogin('anthropic', env);
    expect(told(found)).toEqual(['sk-ant-oat01-x', 'environment CLAUDE_CODE_OAUTH_TOKEN', null]);
    expect(found.source?.current(null)).toMatchObject({ login: true });
    expect(env).toEqual({});
    const both = { CLAUDE_CODE_OAUTH_TOKEN: 'a-login', ANTHROPIC_API_KEY: 'a-key' };
    expect(findLogin('anthropic', both).source?.current(null)).toMatchObject({ login: false });
    expect(both).toEqual({});
  });

  test('one that has ended is found all the same, and renewed when it is used', async () => {
    put('.gemini/oauth_creds.json', { access_token: 'old', refresh_token: 'r', expiry_date: 1 });
    const { source } = findLogin('gemini');
    const secret = await source?.current(null);
    expect(secret && reveal(secret)).toBe('renewed-token');
  });

  test('a file that others may write to is left alone, in words', () => {
    put('.codex/auth.json', { tokens: { access_token: 'the-token', refresh_token: 'r' } }, 0o666);
    expect(told(findLogin('chatgpt'))).toEqual([
      null,
      null,
      '~/.codex/auth.json was left alone: every user may write to it. Run  chmod 600 ~/.codex/auth.json',
    ]);
  });
});
