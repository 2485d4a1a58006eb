import { describe, expect, test } from 'vitest';
import { type Choices, composeConfig } from '../../../../src/policy/init/compose-config.ts';
import { surveyProject } from '../../../../src/policy/init/survey.ts';
import { defaultPresets, embeddedDefault, loadPolicyText } from '../../../../src/policy/load/load-policy.ts';
import { pretendMachine } from '../pretend-machine.ts';

const home = '/home/ann';

interface Ground {
  readonly files?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly programs?: readonly string[];
  readonly choices?: Partial<Choices>;
  /** No host of a remote is taken. */
  readonly isShy?: boolean;
}

/** What would be written, and the policy that it is. */
async function compose({ files = {}, env = {}, programs = [], choices = {}, isShy = false }: Ground) {
  const machine = pretendMachine({ files, env, npm: 'https://registry.example.com/' });
  const launchers = { bubblewrap: true, docker: false };
  const survey = surveyProject({ machine, folder: '/p', hasProgram: (name) => programs.includes(name), launchers });
  const text = composeConfig(survey, {
    agents: survey.agents.map(({ program }) => program),
    leftOut: new Map((isShy ? survey.gitHosts : []).map(({ host }) => [host, 'why not'])),
    refused: new Set(),
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
  test('in an empty folder, without an agent: what is allowed without a file', async () => {
    const { text, policy } = await compose({});
    expect(presetsIn(text)).toEqual([...defaultPresets]);
    const without = await loadPolicyText(
      embeddedDefault,
      'embedded default',
      '/',
      pretendMachine({ npm: 'https://registry.example.com/' }),
    );
    const hostsOf = (rules: readonly { host: { text: string } }[]) => rules.map(({ host }) => host.text).sort();
    expect(hostsOf(policy.allow)).toEqual(hostsOf(without.ok ? without.policy.allow : []));
    expect(policy.warnings).toEqual([]);
    expect(policy.listen.dashboard).toEqual({ host: '127.0.0.1', port: 8642 });
  });

  test('never less than without a file, whatever was found; a preset that somebody said no to is missing', async () => {
    const found = {
      programs: ['claude'],
      files: { '/p/package.json': '', '/p/.git/config': remotes('git@github.com:o/r') },
    };
    expect(presetsIn((await compose(found)).text).sort()).toEqual([...defaultPresets].sort());
    expect(presetsIn((await compose({ ...found, isShy: true })).text).sort()).toEqual([...defaultPresets].sort());
    const { text } = await compose({ ...found, choices: { refused: new Set(['github', 'openai']) } });
    expect(presetsIn(text)).toEqual(['anthropic', 'npm', 'google', 'pypi']);
  });

  test('the repository that --repo names stands in it, and why a remote is not taken', async () => {
    const config = `${remotes('git@github.com:Acme/Widgets.git', '/srv/x.git', 'work:a/b', 'https://10.0.0.7/a/b')}[remote "x\r- host: evil.example"]\n\turl = /y\n`;
    const { text } = await compose({ files: { '/p/.git/config': config } });
    expect(text).toContain(
      '# `sallyport run --repo acme/widgets` gives a sandbox this repository, to fetch and to push.',
    );
    expect(text).toContain('# remote r1: it is a folder of this machine');
    expect(text).toContain('# remote r2: its host is a name without a dot');
    expect(text).toContain('# remote r3: its host is not a name');
    expect(text).toContain('# a remote: it is a folder');
    expect(text).not.toContain('evil');
    expect(text).not.toContain('srv');
    const broken = await compose({ files: { '/p/.git': 'no pointer' } });
    expect(broken.text).toContain('# the remotes: the configuration of this repository cannot be read');
  });

  test('an agent brings its provider and its login', async () => {
    const { text, policy } = await compose({
      programs: ['claude'],
      files: { [`${home}/.claude/.credentials.json`]: '{"claudeAiOauth":{"accessToken":"MARK-1"}}' },
      env: { TAVILY_API_KEY: 'MARK-2' },
    });
    expect(text).toContain('- preset: anthropic # claude');
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
    const shy = await compose({ files: { '/p/.git/config': remotes(...urls) }, isShy: true });
    expect(shy.text.includes(`#   ports: [${ports.join(', ')}]`)).toBe(ports.includes(8443));
  });

  test('a port that there is not makes no remote', async () => {
    const { policy } = await compose({ files: { '/p/.git/config': remotes('https://git.acme.example:99999/a/b') } });
    expect(policy.gitHosts.has('git.acme.example')).toBe(false);
  });

  test('an agent for any provider gets those there is a credential of', async () => {
    const { text } = await compose({ programs: ['opencode'], env: { GROQ_API_KEY: 'x', HF_TOKEN: 'y' } });
    expect(presetsIn(text)).toEqual(['groq', ...defaultPresets]);
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
    expect(presetsIn(text).slice(0, 3)).toEqual(['anthropic', 'github', 'gitlab']);
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
      isShy: true,
    });
    expect(policy.gitHosts.size).toBe(0);
    expect(policy.rulesFor('git.corp.example')).toEqual([]);
    expect(policy.rulesFor('gitlab.com')).toEqual([]);
    for (const comment of [
      '# - preset: gitlab # a remote of this repository: why not',
      '# - host: git.corp.example',
      '#   hosts: [git.corp.example]',
    ])
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
