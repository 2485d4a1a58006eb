import { describe, expect, test } from 'vitest';
import { looksLikeCredential, looksLikeSecretValue } from '../../../../src/sandbox/stubs/credential-variables.ts';
import { type EnvironmentOptions, planEnvironment } from '../../../../src/sandbox/stubs/sandbox-variables.ts';

function plan(changes: Partial<EnvironmentOptions> = {}) {
  return planEnvironment({
    from: {},
    extra: [],
    placeholders: {},
    trust: {},
    git: {},
    path: ['/usr/bin', '/bin'],
    home: '/home/dev',
    user: 'dev',
    ...changes,
  });
}

describe('the environment of a sandbox', () => {
  test('is made, and nothing of the host is in it that is not on the list', () => {
    const from = {
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      LC_TIME: 'C',
      PATH: '/evil',
      HOME: '/root',
      SOMETHING: 'else',
      XDG_CONFIG_HOME: '/x',
    };
    expect(plan({ from }).variables).toEqual({
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      LC_TIME: 'C',
      SHELL: '/bin/sh',
      HOME: '/home/dev',
      USER: 'dev',
      LOGNAME: 'dev',
      PATH: '/usr/bin:/bin',
    });
  });

  test('has placeholders, trust and git, and an image keeps its own PATH', () => {
    const given = {
      placeholders: { ANTHROPIC_API_KEY: 'placeholder' },
      trust: { SSL_CERT_FILE: '/b' },
      git: { GIT_X: '1' },
    };
    const { variables } = plan({ ...given, path: null });
    expect(variables).toMatchObject({ ANTHROPIC_API_KEY: 'placeholder', SSL_CERT_FILE: '/b', GIT_X: '1' });
    expect(variables).not.toHaveProperty('PATH');
  });

  test('takes where tools are from a host that it shares its system with', () => {
    const from = { JAVA_HOME: '/usr/lib/jvm/java', GOPATH: 'relative', SHELL: '/usr/bin/zsh' };
    expect(plan({ from }).variables).toMatchObject({ JAVA_HOME: '/usr/lib/jvm/java', SHELL: '/usr/bin/zsh' });
    expect(plan({ from }).variables).not.toHaveProperty('GOPATH');
    expect(plan({ from, path: null }).variables).not.toHaveProperty('JAVA_HOME');
    expect(plan({ from, path: null }).variables.SHELL).toBe('/bin/sh');
  });

  test('has what the user asks for by name or with a value', () => {
    const { variables, notices } = plan({
      from: { NODE_ENV: 'test' },
      extra: ['NODE_ENV', 'A=b=c', 'EMPTY=', 'MISSING'],
    });
    expect(variables).toMatchObject({ NODE_ENV: 'test', A: 'b=c', EMPTY: '' });
    expect(variables).not.toHaveProperty('MISSING');
    expect(notices).toEqual([expect.stringContaining('MISSING')]);
  });

  test('a placeholder may be replaced by a value that is no credential, and it is said', () => {
    const { variables, notices } = plan({ placeholders: { GH_TOKEN: 'placeholder' }, extra: ['GH_TOKEN=dummy'] });
    expect(variables.GH_TOKEN).toBe('dummy');
    expect(notices).toEqual([expect.stringContaining('GH_TOKEN')]);
  });

  test.each(['', '1A=b', 'A B=c', '=x'])('--env %j is refused', (text) => {
    expect(() => plan({ extra: [text] })).toThrow(/is not NAME or NAME=VALUE/);
  });

  test.each(['HOME=/x', 'SSL_CERT_FILE=/x', 'GIT_CONFIG_SYSTEM=/x'])(
    '--env %s does not take the place of our own',
    (text) => {
      const ours = { trust: { SSL_CERT_FILE: '/b' }, git: { GIT_CONFIG_SYSTEM: '/g' } };
      expect(() => plan({ ...ours, extra: [text] })).toThrow(/needs its own value/);
    },
  );
});

describe('a credential is known by its name', () => {
  test.each([
    ...[
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GITHUB_TOKEN',
      'GH_TOKEN',
      'NPM_TOKEN',
      'npm_config__authToken',
      'AWS_SECRET_ACCESS_KEY',
    ],
    ...[
      'AWS_ACCESS_KEY_ID',
      'AZURE_CLIENT_SECRET',
      'DB_PASSWORD',
      'PGPASSWORD',
      'MYSQL_PWD',
      'DATABASE_URL',
      'CLAUDE_CODE_OAUTH_TOKEN',
    ],
    ...[
      'STRIPE_SECRET',
      'MY_PRIVATE_KEY',
      'SLACK_WEBHOOK_URL',
      'VAULT_TOKEN',
      'TF_VAR_anything',
      'COMPOSER_AUTH',
      'APP_KEY',
      'SSHPASS',
    ],
    ...[
      'GOOGLE_APPLICATION_CREDENTIALS',
      'SECRET_KEY_BASE',
      'TOKEN',
      'apikey',
      'HF_TOKEN',
      'DOCKER_AUTH_CONFIG',
      'SESSION_ID',
    ],
  ])('%s is one', (name) => {
    expect(looksLikeCredential(name)).toBe(true);
  });

  test.each([
    ...[
      'TERM',
      'PATH',
      'HOME',
      'NODE_ENV',
      'LANG',
      'KEYBOARD',
      'TOKENIZERS_PARALLELISM',
      'AWS_REGION',
      'EDITOR',
      'PASSENGER',
      'AUTHOR',
    ],
    ...[
      'ANTHROPIC_BASE_URL',
      'MAX_THINKING_TOKENS',
      'CI',
      'GIT_AUTHOR_NAME',
      'SSL_CERT_FILE',
      'AWS_CA_BUNDLE',
      'PATTERN',
      'MONKEY',
    ],
  ])('%s is none', (name) => {
    expect(looksLikeCredential(name)).toBe(false);
  });

  test.each([
    ...[
      'sk-ant-api03-0123456789abcdef',
      'ghp_0123456789abcdefghij',
      'https://me:word@host.example/',
      'AKIA0123456789ABCDEF',
    ],
    ...['-----BEGIN RSA PRIVATE KEY-----', 'postgres://:word@db.example/x', 'glpat-0123456789abcdefghij'],
  ])('the value %s is one', (value) => {
    expect(looksLikeSecretValue(value)).toBe(true);
  });

  test.each(['https://host.example:8443/path@x', 'xterm-256color', '12:30', 'sk-learn', 'git@host.example:me/it.git'])(
    'the value %s is none',
    (value) => {
      expect(looksLikeSecretValue(value)).toBe(false);
    },
  );
});
