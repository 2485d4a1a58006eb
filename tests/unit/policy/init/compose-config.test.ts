import { describe, expect, test } from 'vitest';
import { type Choices, composeConfig } from '../../../../src/policy/init/compose-config.ts';
import { surveyProject } from '../../../../src/policy/init/survey.ts';
import { loadPolicyText } from '../../../../src/policy/load/load-policy.ts';
import { pretendMachine } from '../pretend-machine.ts';

const home = '/home/ann';

interface Ground {
  readonly files?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly programs?: readonly string[];
  readonly choices?: Partial<Choices>;
}

/** What would be written, and the policy that it is. */
async function compose({ files = {}, env = {}, programs = [], choices = {} }: Ground) {
  const machine = pretendMachine({ files, env });
  const launchers = { bubblewrap: true, docker: false };
  const survey = surveyProject({ machine, folder: '/p', hasProgram: (name) => programs.includes(name), launchers });
  const text = composeConfig(survey, {
    agents: survey.agents.map(({ program }) => program),
    gitHosts: new Set(survey.gitHosts.map(({ host }) => host)),
    asks: false,
    schema: null,
    ...choices,
  });
  const result = await loadPolicyText(text, '/p/sallyport.yaml', '/p', machine);
  if (!result.ok) throw new Error(`${JSON.stringify(result.errors)}\n${text}`);
  return { text, policy: result.policy };
}

const presetsIn = (text: string): string[] => [...text.matchAll(/^ {2}- preset: (\S+)/gm)].map((match) => match[1]!);
const remotes = (...urls: string[]) =>
  urls.map((url, at) => `[remote "${at === 0 ? 'origin' : `r${at}`}"]\n\turl = ${url}\n`).join('');

describe('a first configuration is valid, whatever was found', () => {
  test('in an empty folder, without an agent: the usual providers', async () => {
    const { text, policy } = await compose({});
    expect(presetsIn(text)).toEqual(['anthropic', 'openai', 'google']);
    expect(policy.warnings).toEqual([]);
    expect(policy.listen.dashboard).toEqual({ host: '127.0.0.1', port: 8642 });
  });

  test('an agent brings its provider, its login, and no other', async () => {
    const { text, policy } = await compose({
      programs: ['claude'],
      files: { [`${home}/.claude/.credentials.json`]: '{"claudeAiOauth":{"accessToken":"MARK-1"}}' },
      env: { TAVILY_API_KEY: 'MARK-2' },
    });
    expect(presetsIn(text)).toEqual(['anthropic']);
    expect(policy.credentials.get('anthropic')?.source).toMatchObject({ kind: 'login', agent: 'claude' });
    expect(text).toContain('# - preset: tavily');
    expect(text).not.toContain('MARK');
  });

  test('a host that YAML would take for a number is a host', async () => {
    const { policy } = await compose({
      files: { '/p/.git/config': remotes('https://1.5e3/a/b', 'https://ghe.1.e5/a/b') },
    });
    expect(policy.allow.map(({ host }) => host.text)).toEqual(expect.arrayContaining(['1.5e3', 'ghe.1.e5']));
    expect(policy.gitHosts.has('1.5e3')).toBe(true);
  });

  test.each([
    ['a port of https is kept', ['https://git.acme.example:8443/a/b'], [8443]],
    ['beside the usual one', ['https://git.acme.example/a/b', 'https://git.acme.example:8443/a/b'], [443, 8443]],
    ['one of ssh is not', ['ssh://git@git.acme.example:2222/a/b'], [443]],
    ['nor is the usual one written', ['https://git.acme.example:443/a/b'], [443]],
  ])('%s', async (_, urls, ports) => {
    const { policy } = await compose({ files: { '/p/.git/config': remotes(...urls) } });
    const [rule] = policy.allow.filter(({ host }) => host.text === 'git.acme.example');
    expect([...rule!.ports].sort()).toEqual(ports);
    const shy = await compose({
      files: { '/p/.git/config': remotes(...urls) },
      choices: { gitHosts: new Set<string>() },
    });
    expect(shy.text.includes(`#   ports: [${ports.join(', ')}]`)).toBe(ports.includes(8443));
  });

  test('a port that there is not makes no remote', async () => {
    const { policy } = await compose({ files: { '/p/.git/config': remotes('https://git.acme.example:99999/a/b') } });
    expect(policy.gitHosts.has('git.acme.example')).toBe(false);
  });

  test('an agent for any provider gets those there is a credential of', async () => {
    const { text } = await compose({ programs: ['opencode'], env: { GROQ_API_KEY: 'x', HF_TOKEN: 'y' } });
    expect(presetsIn(text)).toEqual(['groq']);
  });

  test('remotes on GitHub, GitHub Enterprise, GitLab and a host of its own', async () => {
    const { text, policy } = await compose({
      programs: ['claude', 'gh'],
      files: {
        '/p/.git/config': remotes(
          'git@github.com:o/r.git',
          'https://ghe.corp.example/o/r',
          'https://gitlab.com/o/r',
          'git@git.corp.example:o/r',
        ),
        [`${home}/.config/gh/hosts.yml`]: 'github.com: { user: ann }\nghe.corp.example: { user: ann }\n',
      },
    });
    expect(presetsIn(text)).toEqual(['anthropic', 'github', 'gitlab']);
    expect(policy.githubHosts).toEqual(['github.com', 'ghe.corp.example']);
    expect([...policy.gitHosts].sort()).toEqual(['git.corp.example', 'gitlab.com']);
    expect(policy.credentials.get('ghe')?.source).toMatchObject({ kind: 'command' });
    expect(policy.credentials.get('github')?.source).toMatchObject({ argv: ['gh', 'auth', 'token'] });
    expect(policy.warnings).toEqual([]);
  });

  test('hosts that were not chosen are there as comments alone', async () => {
    const { text, policy } = await compose({
      files: {
        '/p/.git/config': remotes('https://gitlab.com/o/r', 'git@git.corp.example:o/r', 'git@ghe.x.example:o/r'),
      },
      choices: { gitHosts: new Set() },
    });
    expect(policy.gitHosts.size).toBe(0);
    expect(policy.rulesFor('git.corp.example')).toEqual([]);
    expect(policy.rulesFor('gitlab.com')).toEqual([]);
    for (const comment of ['# - preset: gitlab', '# - host: git.corp.example', '#   hosts: [git.corp.example]'])
      expect(text).toContain(comment);
  });

  test('the example of a question is a comment, and a rule when it was chosen', async () => {
    expect((await compose({})).policy.rulesFor('new.example')).toEqual([]);
    const { policy } = await compose({ choices: { asks: true } });
    expect(policy.rulesFor('new.example')).toMatchObject([{ ask: true }]);
  });

  test('every part of it can be switched on by taking the comment marks away', async () => {
    const { text } = await compose({ env: { ANTHROPIC_API_KEY: 'x', TAVILY_API_KEY: 'y' } });
    const live = text.replace(/^ {2}# (- | {2}\w)/gm, '  $1');
    const result = await loadPolicyText(live, '/p/x.yaml', '/p', pretendMachine());
    expect(result.ok && result.policy.allow.some(({ ask }) => ask)).toBe(true);
  });

  test('editors are told of a schema when somebody says where it is', async () => {
    const { text } = await compose({ choices: { schema: './sallyport.schema.json' } });
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./sallyport.schema.json');
  });
});
