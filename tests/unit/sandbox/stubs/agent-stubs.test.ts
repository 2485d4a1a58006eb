import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AgentStubOptions, agentStubs, quietAgents } from '../../../../src/sandbox/stubs/agent-stubs.ts';
import { placeholderVariables } from '../../../../src/sandbox/stubs/placeholders.ts';

const everything = placeholderVariables(new Set(['anthropic', 'openai', 'google', 'mistral', 'github']));

function stubs(options: Partial<AgentStubOptions> = {}): Map<string, string> {
  const made = agentStubs({ workingDirectory: '/home/ada/engine', placeholders: everything, ...options });
  return new Map(made.map(({ path, text }) => [path, text]));
}

function readJson(files: Map<string, string>, path: string): unknown {
  return JSON.parse(files.get(path)!);
}

describe('agents believe that they are logged in', () => {
  test('claude asks neither about its key nor about the folder', () => {
    expect(readJson(stubs(), '.claude.json')).toEqual({
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: [everything.ANTHROPIC_API_KEY!.slice(-20)], rejected: [] },
      projects: { '/home/ada/engine': { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    });
  });

  test('codex has a key and trusts the folder', () => {
    const files = stubs();
    expect(readJson(files, '.codex/auth.json')).toEqual({
      auth_mode: 'apikey',
      OPENAI_API_KEY: everything.OPENAI_API_KEY,
    });
    expect(files.get('.codex/config.toml')).toContain('[projects."/home/ada/engine"]\ntrust_level = "trusted"\n');
  });

  test('gemini takes the key from the environment and trusts the folder', () => {
    const files = stubs();
    expect(readJson(files, '.gemini/settings.json')).toMatchObject({
      security: { auth: { selectedType: 'gemini-api-key' } },
    });
    expect(readJson(files, '.gemini/trustedFolders.json')).toEqual({ '/home/ada/engine': 'TRUST_FOLDER' });
  });

  test.each([
    ['xai', {}],
    ['gitlab', { enterpriseUrl: 'https://gitlab.com' }],
  ])('opencode finds a login for %s, which no variable tells it of', (name, more) => {
    const logins = new Set([name]);
    expect(placeholderVariables(logins, logins)).toEqual({});
    expect(
      readJson(stubs({ placeholders: {}, credentials: logins, logins }), '.local/share/opencode/auth.json'),
    ).toEqual({
      [name]: {
        type: 'oauth',
        access: expect.stringContaining(`sallyport-placeholder-for-${name}`),
        refresh: expect.stringContaining(`sallyport-placeholder-for-${name}`),
        expires: expect.any(Number),
        ...more,
      },
    });
  });

  test('opencode knows every provider that is set', () => {
    expect(readJson(stubs(), '.local/share/opencode/auth.json')).toEqual({
      anthropic: { type: 'api', key: everything.ANTHROPIC_API_KEY },
      openai: { type: 'api', key: everything.OPENAI_API_KEY },
      google: { type: 'api', key: everything.GEMINI_API_KEY },
      mistral: { type: 'api', key: everything.MISTRAL_API_KEY },
    });
  });

  test('without a credential no file pretends to a login', () => {
    const paths = [...stubs({ placeholders: {} }).keys()];
    expect(paths).toEqual([
      '.claude.json',
      '.codex/config.toml',
      '.gemini/settings.json',
      '.gemini/trustedFolders.json',
    ]);
  });

  test('nobody looks for updates of programs that cannot be changed', () => {
    expect(quietAgents).toMatchObject({ DISABLE_AUTOUPDATER: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' });
  });
});

describe('a login has a file in place of a key', () => {
  const login = (...names: string[]): Partial<AgentStubOptions> => {
    const credentials = new Set(names);
    const logins = new Set(names.filter((name) => name === 'anthropic'));
    return { credentials, logins, placeholders: placeholderVariables(credentials, logins) };
  };

  test('claude is logged in with what it takes to talk to a model, and has no key in its environment', () => {
    const options = login('anthropic');
    expect(options.placeholders).toEqual({});
    expect(readJson(stubs(options), '.claude/.credentials.json')).toEqual({
      claudeAiOauth: {
        accessToken: expect.stringMatching(/^sk-ant-oat01-sallyport-placeholder-for-anthropic-/),
        refreshToken: expect.stringMatching(/^sk-ant-ort01-sallyport-placeholder-for-anthropic-/),
        expiresAt: expect.any(Number),
        scopes: ['user:inference'],
        subscriptionType: 'pro',
      },
    });
  });

  test('claude with a key has no login', () => {
    expect(stubs({ credentials: new Set(['anthropic']) }).has('.claude/.credentials.json')).toBe(false);
  });

  test('codex is logged in, also where there is a key: the login goes first, as it does outside', () => {
    for (const options of [login('chatgpt'), login('chatgpt', 'openai')]) {
      expect(options.placeholders).not.toHaveProperty('CODEX_API_KEY');
      const file = readJson(stubs(options), '.codex/auth.json') as { tokens: Record<string, string> };
      expect(file).toMatchObject({ auth_mode: 'chatgpt', OPENAI_API_KEY: null });
      const claims = JSON.parse(Buffer.from(file.tokens.access_token!.split('.')[1]!, 'base64url').toString());
      expect(claims['https://api.openai.com/auth'].chatgpt_account_id).toBe(file.tokens.account_id);
      expect(claims.exp * 1000).toBeGreaterThan(Date.now());
    }
  });

  test('gemini is logged in and need not ask who it is', () => {
    const files = stubs(login('gemini'));
    expect(readJson(files, '.gemini/settings.json')).toMatchObject({
      security: { auth: { selectedType: 'oauth-personal' } },
    });
    expect(readJson(files, '.gemini/oauth_creds.json')).toMatchObject({
      access_token: expect.stringMatching(/^ya29\.sallyport-placeholder-for-gemini-/),
      token_type: 'Bearer',
    });
    expect(readJson(files, '.gemini/google_accounts.json')).toEqual({ active: 'sandbox@sallyport.invalid', old: [] });
  });

  test('opencode has an entry for each login, and for ChatGPT only where there is no key', () => {
    const entries = (...names: string[]) => readJson(stubs(login(...names)), '.local/share/opencode/auth.json');
    expect(entries('chatgpt', 'copilot')).toEqual({
      openai: expect.objectContaining({ type: 'oauth', accountId: expect.any(String) }),
      'github-copilot': expect.objectContaining({ type: 'oauth', expires: 0 }),
    });
    expect(entries('chatgpt', 'openai')).toEqual({ openai: expect.objectContaining({ type: 'api' }) });
  });

  test('every token in every file says what it is', () => {
    const tokens = [...stubs(login('anthropic', 'chatgpt', 'gemini', 'copilot'))].flatMap(([path, text]) =>
      [...text.matchAll(/"(?:\w*[tT]oken|access|refresh)": "([^"]+)"/g)].map(([, token]) => ({ path, token })),
    );
    expect(new Set(tokens.map(({ path }) => path)).size).toBe(4);
    for (const { token } of tokens) expect(token).toContain('sallyport-placeholder-for-');
  });
});

describe('stubs are harmless files', () => {
  test('all are below the home and private', () => {
    const made = agentStubs({
      workingDirectory: '/w',
      placeholders: everything,
      gitIdentity: { name: 'Ada', email: 'ada@engine.example' },
      credentials: new Set(['anthropic', 'chatgpt', 'gemini', 'copilot']),
      logins: new Set(['anthropic']),
    });
    for (const { path, mode } of made) {
      expect(path).toMatch(/^\.[\w.]+(\/[\w.]+)*$/);
      expect(path).not.toContain('..');
      expect(mode).toBe(0o600);
    }
  });

  test('a folder with quotes, a new line and a DEL in its name stays one name in TOML', () => {
    const workingDirectory = '/w/"]\nsandbox_mode = "danger\x7f\\';
    const text = stubs({ workingDirectory }).get('.codex/config.toml')!;
    expect(text.split('\n').filter((line) => line.startsWith('['))).toEqual([
      '[features]',
      '[analytics]',
      '[sandbox_workspace_write]',
      '[projects."/w/\\"]\\nsandbox_mode = \\"danger\\u007f\\\\"]',
    ]);
    expect(text).not.toMatch(/^sandbox_mode/m);
  });

  test('a name for commits is one setting to git, whatever is in it', () => {
    const name = 'Ada "Countess" \\ Lovelace # 1\n[core]\n\tsshCommand = evil';
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-stub-'));
    try {
      const file = join(folder, 'gitconfig');
      writeFileSync(file, stubs({ gitIdentity: { name, email: null } }).get('.gitconfig')!);
      const listed = execFileSync('git', ['config', '--file', file, '--list', '-z'], { encoding: 'utf8' });
      expect(listed).toBe('user.name\nAda "Countess" \\ Lovelace # 1 [core] sshCommand = evil\0');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('name and address both come, and without them there is no file', () => {
    const text = stubs({ gitIdentity: { name: 'Ada', email: 'ada@engine.example' } }).get('.gitconfig');
    expect(text).toBe('[user]\n\tname = "Ada"\n\temail = "ada@engine.example"\n');
    expect(stubs({ gitIdentity: null }).has('.gitconfig')).toBe(false);
    expect(stubs({ gitIdentity: { name: null, email: null } }).has('.gitconfig')).toBe(false);
  });
});
