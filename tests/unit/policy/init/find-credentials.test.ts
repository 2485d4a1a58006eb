import { describe, expect, test, vi } from 'vitest';
import { findCredentials, findGhHosts } from '../../../../src/policy/init/find-credentials.ts';
import { knownCredentials } from '../../../../src/policy/init/known-credentials.ts';
import { loadPresets } from '../../../../src/policy/schema/presets.ts';
import { userLogins } from '../../../../src/stages/inject/logins/login-agents.ts';
import { ghHost, userKeyPlaces } from '../../../../src/stages/inject/sources/user-key-places.ts';
import { pretendMachine } from '../pretend-machine.ts';

const home = '/home/ann';
const always = (): boolean => true;
const found = (files: Record<string, unknown>, env: Record<string, string> = {}, has = always) => {
  const texts = Object.entries(files).map(([path, content]) => [
    `${home}/${path}`,
    typeof content === 'string' ? content : JSON.stringify(content),
  ]);
  return findCredentials(pretendMachine({ env, files: Object.fromEntries(texts) }), has);
};
const places = (...args: Parameters<typeof found>) => found(...args).map(({ name, where }) => `${name} ${where}`);

describe('credentials that the user already has are found by their place', () => {
  test.each([
    'github.com:\n  user: ann\n  oauth_token: !tag gho_MARK\n',
    '? [gho_MARK]\n: x\ngithub.com: { user: ann }\n',
  ])('what the reader of YAML finds odd is not told: it would quote the token (%#)', (text) => {
    const told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    expect(places({ '.config/gh/hosts.yml': text })).toEqual(['github ~/.config/gh/hosts.yml']);
    expect(ghHost(text)).not.toBeNull();
    expect(told).not.toHaveBeenCalled();
    told.mockRestore();
  });

  test('variables, keys and logins of agents, gh and AWS', () => {
    expect(
      places(
        {
          '.claude/.credentials.json': { claudeAiOauth: { accessToken: 'sk-ant-oat-1' } },
          '.codex/auth.json': { auth_mode: 'chatgpt', tokens: { access_token: 'x' } },
          '.gemini/oauth_creds.json': { refresh_token: 'x' },
          '.local/share/opencode/auth.json': {
            groq: { type: 'api', key: 'gsk' },
            'github-copilot': { type: 'oauth', refresh: 'gho' },
          },
          '.config/gh/hosts.yml': 'github.com:\n    user: ann\n',
          '.aws/credentials': '[default]\naws_access_key_id = AKIA\n',
        },
        { OPENAI_API_KEY: 'sk-1', MISTRAL_API_KEY: ' ' },
      ),
    ).toEqual([
      'anthropic ~/.claude/.credentials.json',
      'openai OPENAI_API_KEY',
      'chatgpt ~/.codex/auth.json',
      'gemini ~/.gemini/oauth_creds.json',
      'github ~/.config/gh/hosts.yml',
      'groq ~/.local/share/opencode/auth.json',
      'copilot ~/.local/share/opencode/auth.json',
      'aws ~/.aws/credentials',
    ]);
  });

  test('a key comes before a login, as `run` has it', () => {
    const files = { '.claude/.credentials.json': { claudeAiOauth: { accessToken: 'x' } } };
    expect(places(files, { ANTHROPIC_API_KEY: 'sk' })).toEqual(['anthropic ANTHROPIC_API_KEY']);
    expect(places({ ...files, '.claude.json': { primaryApiKey: 'sk' } })).toEqual(['anthropic ~/.claude.json']);
  });

  test('files that are empty, broken or of another kind count for nothing', () => {
    expect(
      places({
        '.claude/.credentials.json': '{',
        '.codex/auth.json': { auth_mode: 'apikey', OPENAI_API_KEY: '', tokens: { access_token: 'left over' } },
        '.gemini/.env': 'GEMINI_API_KEY=\n# GEMINI_API_KEY=x',
        '.local/share/opencode/auth.json': {
          gitlab: { type: 'oauth', access: 'x', enterpriseUrl: 'https://g.example' },
        },
        '.config/gh/hosts.yml': 'github.com: [',
        '.aws/credentials': '[other]\naws_access_key_id = AKIA\n',
      }),
    ).toEqual([]);
  });

  test('a login of gh is a source only where gh is', () => {
    const files = { '.config/gh/hosts.yml': 'github.com: { user: ann, oauth_token: gho_x }\nghe.example.com: {}\n' };
    expect(found(files)[0]?.source).toContain('gh, auth, token');
    expect(found(files, {}, () => false)[0]?.source).toBe(null);
    const hosts = pretendMachine({ files: { [`${home}/.config/gh/hosts.yml`]: files['.config/gh/hosts.yml'] } });
    expect(findGhHosts(hosts)).toEqual(['github.com', 'ghe.example.com']);
  });
});

describe('what is known here is what `run` and the presets know', () => {
  test('the same variables and files of keys, in the same order', () => {
    for (const [name, { variables, loginVariables, files }] of userKeyPlaces) {
      const known = knownCredentials.find((one) => one.name === name);
      expect(known?.variables, name).toEqual([...variables, ...loginVariables]);
      const keys = known?.files.filter(({ what }) => !what.includes('ogin') || what === 'login of gh');
      expect(
        keys?.map(({ path }) => path),
        name,
      ).toEqual(files.map(({ path }) => path));
    }
  });

  test('the same logins', () => {
    for (const [name, logins] of userLogins) {
      const sources = knownCredentials.find((one) => one.name === name)?.files.map(({ source }) => source ?? '');
      for (const { agent, provider } of logins) {
        const wanted = provider === null ? `{ login: ${agent} }` : `agent: ${agent}, provider: ${provider}`;
        expect(
          sources?.some((source) => source.includes(wanted)),
          `${name} ${agent}`,
        ).toBe(true);
      }
    }
  });

  test('every preset is there and has that credential', () => {
    const { presets } = loadPresets();
    for (const { name, preset } of knownCredentials) {
      expect(
        presets.get(preset)?.credentials.map((one) => one.name),
        preset,
      ).toContain(name);
    }
  });
});
