// `run --settings copy` lays a copy of the user's own settings into a sandbox's home. People keep keys in them, in every place
// there is: none of those may come along, and nothing that is not a plain file of the user's own.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

const user = 'an ordinary user';
let ground: RunGround;
let home: string;
let seen: string;
let stderr: string;

/** Each has a shape of its own or none; `lintel` is in all of them. */
const planted = {
  known: 'sk-ant-api03-lintel-abcdefghijklmnop',
  configured: 'plain-lintel-without-a-shape-77',
  login: 'oat01-lintel-refresh-0123456789',
  variable: 'my-lintel-value',
  variableOfServer: 'hunter2-lintel',
  header: 'lintel-header-value',
  query: 'lintel-in-plain-words',
  path: 'lintel0path1234567890',
  argument: 'lintel-argument-5',
  userinfo: 'lintel-password',
  memory: 'lintel-memory-9x',
  far: 'lintel-elsewhere',
} as const;

const put = (path: string, content: string): void => {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode: 0o600 });
};

const keys = mkdtempSync(join(tmpdir(), 'sallyport-keys-'));

beforeAll(async () => {
  const keyFile = join(keys, 'mine.key');
  chmodSync(keys, 0o755);
  writeFileSync(keyFile, planted.configured, { mode: 0o600 });
  ground = makeRunGround({
    allow: [{ host: 'api.example.com' }],
    credentials: {
      mine: { hosts: ['api.example.com'], inject: { bearer: true }, source: { file: keyFile } },
    },
  });
  home = ground.homeOf(user);
  put('.claude/.credentials.json', JSON.stringify({ claudeAiOauth: { refreshToken: planted.login } }));
  put(
    '.claude/settings.json',
    JSON.stringify({
      model: 'claude-sonnet-4-5-20250929',
      env: { HARMLESS: '1', BASE: 'plain', MY_KEY: planted.variable, ODD: planted.variable },
      apiKeyHelper: `echo ${planted.argument}`,
      permissions: { allow: ['Bash(npm test)', `Bash(curl -H "x: ${planted.known}")`] },
      hooks: { Stop: [{ hooks: [{ type: 'command', command: '/home/me/bin/notify' }] }] },
    }),
  );
  const server = { command: 'npx', args: ['-y', 'a-server'] };
  put(
    '.claude.json',
    JSON.stringify({
      oauthAccount: { emailAddress: 'me@example.com' },
      customApiKeyResponses: { approved: ['abcdefghijklmnop'] },
      mcpServers: {
        good: server,
        withEnv: { ...server, env: { REGION: 'eu', PASSPHRASE: planted.variableOfServer } },
        withHeader: { url: 'https://mcp.example/x', headers: { 'X-Anything': planted.header, A: `\${TOKEN}` } },
        inQuery: { url: `https://mcp.example/?api_key=${planted.query}` },
        inPath: { url: `https://mcp.example/s/${planted.path}/mcp` },
        inLogin: { url: `https://me:${planted.userinfo}@mcp.example/` },
        inArguments: { command: 'npx', args: ['--api-key', planted.argument] },
        inOption: { command: 'npx', args: [`--token=${planted.argument}`] },
      },
    }),
  );
  put('.claude/CLAUDE.md', 'Answer briefly.\n');
  put('.claude/commands/good.md', 'Do the good thing.\n');
  put('.claude/commands/deep/known.md', `use ${planted.known}\n`);
  put('.claude/commands/configured.md', `use ${planted.configured}\n`);
  put('.claude/commands/login.md', `use ${planted.login}\n`);
  put('.claude/commands/said.md', `the database password: ${planted.memory}\n`);
  put('.claude/skills/s/.env', `X=${planted.memory}\n`);
  put('.claude/skills/s/SKILL.md', 'a skill\n');
  put('.claude/skills/s/large.md', 'x'.repeat(300 * 1024));
  put('letters/far.md', planted.far);
  symlinkSync(join(home, 'letters/far.md'), join(home, '.claude/commands/link.md'));
  symlinkSync(join(home, 'letters'), join(home, '.claude/agents'));
  execFileSync('mkfifo', [join(home, '.claude/commands/pipe.md')]);
  put(
    '.codex/config.toml',
    `model = "gpt-5"\n[mcp_servers.x]\ncommand = "y"\n[mcp_servers.x.env]\nK = "${planted.variableOfServer}"\n`,
  );
  put('.codex/AGENTS.md', `# mine\napi_key = "${planted.memory}"\n`);
  put('.gemini/GEMINI.md', 'Gemini, be brief.\n');
  put(
    '.config/opencode/opencode.jsonc',
    `{ // mine\n "theme": "dark", "provider": { "x": { "options": { "apiKey": "${planted.variable}" } } }, }`,
  );
  execFileSync('chown', ['-R', '54321:54321', home, keyFile]);
  const script = `cd ~; grep -rI "" . 2>/dev/null | grep -av '^./project'; ls -laR ~/.claude ~/.codex`;
  const run = await ground.sallyport(user, ['run', '--settings', 'copy', '--', 'sh', '-c', script], {
    env: { A_SECRET_TOKEN: planted.variable },
  });
  ({ stdout: seen, stderr } = run);
  expect(run.code, stderr).toBe(0);
});
afterAll(() => {
  ground.remove();
  rmSync(keys, { recursive: true });
});

test.each(Object.entries(planted))('no %s comes along', (_name, secret) => {
  expect(seen).not.toContain(secret);
});

test('nor anything that is near them: a login, a link, a pipe, a file too large, a state that is no setting', () => {
  expect(seen).not.toContain('lintel');
  for (const name of ['link.md', 'pipe.md', 'large.md', 'me@example.com', 'apiKeyHelper', 'inArguments', 'inLogin'])
    expect(seen).not.toContain(name);
  expect(seen).not.toMatch(/agents.*letters/);
});

test('what is harmless is there, with what the sandbox needs beside it', () => {
  for (const text of [
    'Answer briefly.',
    'Do the good thing.',
    'a skill',
    'Gemini, be brief.',
    'gpt-5',
    'claude-sonnet-4-5-20250929',
  ])
    expect(seen).toContain(text);
  for (const text of [
    '"HARMLESS": "1"',
    '"BASE": "plain"',
    '/home/me/bin/notify',
    'Bash(npm test)',
    '"REGION": "eu"',
    `"A": "\${TOKEN}"`,
    '"theme": "dark"',
  ])
    expect(seen).toContain(text);
  // Of the sandbox: agents start without a question, and know where to ask why something was refused.
  expect(seen).toContain('hasCompletedOnboarding');
  expect(seen).toContain('check_for_update_on_startup');
  expect(seen).toContain('http://sallyport.internal/why');
  expect(stderr).toBe('');
});

test('what was left out is said at the start, by its place and never by its value', async () => {
  const script = 'echo done';
  const run = await ground.atTerminal(user, ['run', '--settings', 'copy', '--', 'sh', '-c', script], []);
  expect(run.screen).toMatch(/settings copied: claude \(\d+ files\), codex \(1 file\)/);
  expect(run.screen).toMatch(/left out of your settings: ~\/\.claude\/settings\.json \(env\.MY_KEY\)/);
  expect(run.screen).not.toContain('lintel');
});

test('without the option there is nothing of them', async () => {
  const { stdout } = await ground.sallyport(user, [
    'run',
    '--',
    'sh',
    '-c',
    'cat ~/.claude/CLAUDE.md; ls ~/.claude/commands',
  ]);
  expect(stdout).not.toContain('Answer briefly.');
  expect(readFileSync(join(home, '.claude/CLAUDE.md'), 'utf8')).toBe('Answer briefly.\n');
});
