// Guards: threats.md T83. The whole table of config/presets.yaml, by the code that the door, `check` and `policy test` share.
import { beforeAll, describe, expect, test } from 'vitest';
import { judgeCase } from '../../../src/gateway/decisions/judge-cases.ts';
import type { JudgedCase } from '../../../src/policy/cases/case-verdict.ts';
import type { CompiledPolicy, CredentialSpec, EffectPaths } from '../../../src/policy/compiled.ts';
import { loadPresets } from '../../../src/policy/schema/presets.ts';
import { policyOf, pretendMachine } from '../../unit/policy/pretend-machine.ts';

const { effects, presets } = loadPresets();
const withCredentials = [...presets.values()].filter(({ credentials }) => credentials.length > 0);
const hostsOf = ({ hosts }: EffectPaths): string[] => hosts.map(({ text }) => text.replaceAll('*', 'eu-west-1'));
/** One path for each line of the table; what is below it and its custom methods stand after it in the compiled list. */
const pathsOf = ({ paths }: EffectPaths): string[] =>
  paths.filter((_, i) => i % 3 === 0).map(({ text }) => filled(text));
const filled = (pattern: string): string =>
  pattern.replaceAll('/**', '/a1/b2').replaceAll('**', 'a1').replaceAll('*', 'c3');

const table = effects.flatMap((one) =>
  hostsOf(one).flatMap((host) => pathsOf(one).map((path) => [host, path, one] as const)),
);

function spellingsOf(path: string): string[] {
  const last = path.length - 1;
  const code = (i: number): string => `%${path.charCodeAt(i).toString(16)}`;
  return [
    path,
    path.toUpperCase(),
    path.replace(/[a-z](?=[^a-z]*$)/, (letter) => letter.toUpperCase()),
    `${path}/`,
    `${path};x`,
    path.replace(/(?<=.)\//, ';x=1/'),
    `${path}.json`,
    `${path}/below`,
    path.slice(0, last) + code(last),
    path.slice(0, 1) + code(1) + path.slice(2),
    `/${code(1)}${path.slice(2, last)}${code(last)}/`,
  ];
}
/** Refused one way or another: what they are is decided before any rule is asked. */
const folded = (path: string): string[] => [
  path.replace(/(?<=.)\//, '//'),
  `/x/..${path}`,
  path.replace(/(?<=.)\//, '%2f'),
];

const sandbox = { repos: [], authMode: 'bot', allowedBranches: [], credentials: null } as const;

function asked(policy: CompiledPolicy, method: string, url: string): Promise<JudgedCase> {
  const request = { kind: 'request', method, url, headers: {}, body: '' } as const;
  const rest = { name: url, line: 1, expect: 'allowed', code: null, rule: null, credential: undefined } as const;
  return judgeCase(policy, { ...rest, sandbox, asked: request });
}

/** Every preset, and every host of the table by a rule that allows all of it. */
let wide: CompiledPolicy;
/** The same, with both effects named. */
let named: CompiledPolicy;

beforeAll(async () => {
  const machine = pretendMachine({});
  const hosts = [...new Set(table.map(([host]) => host))];
  const allow = (more: object) => [
    ...withCredentials.filter(({ name }) => name !== 'chatgpt').map(({ name }) => ({ preset: name, ...more })),
    ...hosts.map((host) => ({ host, ...more })),
  ];
  const text = (more: object): string => JSON.stringify({ version: 1, allow: allow(more) });
  wide = await policyOf(text({}), machine);
  named = await policyOf(text({ effects: ['mint-credential', 'remote-agent'] }), machine);
});

describe('a path that mints a credential or starts an agent elsewhere is refused in every spelling', () => {
  test('the table has rows for every provider that is known to have such paths', () => {
    expect([...new Set(effects.map(({ preset }) => preset))]).toEqual([
      ...['anthropic', 'openai', 'chatgpt', 'google', 'gitlab', 'huggingface', 'mistral', 'xai', 'openrouter'],
      ...['perplexity', 'tavily', 'cohere', 'copilot', 'bedrock'],
    ]);
    expect(table.length).toBeGreaterThan(150);
    for (const { from } of effects) expect(from.length).toBeGreaterThan(15);
  });

  test.each(table)('%s%s', async (host, path, { readable, effect }) => {
    for (const spelling of spellingsOf(path)) {
      const verdict = await asked(wide, 'POST', `https://${host}${spelling}`);
      expect([spelling, verdict.code]).toEqual([spelling, 'provider.effect']);
      expect(verdict.hint).toContain(effect);
      const read = await asked(wide, 'GET', `https://${host}${spelling}`);
      expect([spelling, read.code === 'provider.effect']).toEqual([spelling, !readable]);
    }
    for (const spelling of folded(path)) {
      expect([spelling, (await asked(wide, 'POST', `https://${host}${spelling}`)).outcome]).toEqual([
        spelling,
        'refused',
      ]);
    }
  });

  test('an id with slashes in it, and letters in code beside them', async () => {
    for (const path of ['/api/v4/projects/g%2Fp/%76ariables', '/api/v4/projects/g%2Fp/%74riggers']) {
      expect((await asked(wide, 'POST', `https://gitlab.com${path}`)).code).toBe('provider.effect');
    }
  });

  test.each(table)(
    'it passes where the policy names the effect, with the credential of the host: %s%s',
    async (host, path) => {
      const { outcome, credential, code } = await asked(named, 'POST', `https://${host}${path}`);
      // What stands beside the token endpoint of a login is refused whatever is named.
      if (host === 'api.anthropic.com' && path === '/v1/oauth') return expect(code).toBe('token.login-outside');
      expect([outcome, credential]).toEqual(['allowed', named.credentialsFor(host)[0]?.name ?? null]);
    },
  );
});

// GitHub's API is judged call by call (config/github), and AWS by the service that a signature is for.
const judgedOtherwise: ReadonlySet<string> = new Set([
  'api.github.com',
  '*.amazonaws.com',
  '*.amazonaws.com.cn',
  '*.api.aws',
]);
const placesOf = (spec: Pick<CredentialSpec, 'placements' | 'name'>) =>
  spec.placements.flatMap(({ hosts, paths, injection }) => hosts.map(({ text }) => ({ host: text, paths, injection })));

describe('the credentials of presets', () => {
  const places = withCredentials.flatMap(({ name, credentials }) =>
    credentials.flatMap((spec) => placesOf(spec).map((place) => [name, spec.name, place.host, place] as const)),
  );
  const listed = places.filter(([, , host]) => !judgedOtherwise.has(host));

  test('are all looked at', () => {
    expect(new Set(listed.map(([preset]) => preset)).size).toBe(withCredentials.length - 2);
  });

  test.each(listed)(
    '%s: %s goes to a list of paths of %s, not to all below its root or a version',
    (_, __, ___, { paths }) => {
      const anything = [
        '/',
        '/zz',
        '/zz/zz',
        '/v1',
        '/v1/zz',
        '/v1/zz/zz',
        '/v1beta/zz',
        '/v2/zz',
        '/api/zz',
        '/api/v1/zz',
      ];
      anything.push('/api/v4/zz', '/openai/v1/zz', '/backend-api/zz', '/v1internal:zz', '/beta/zz', '/repos');
      const found = anything.filter((path) => paths === null || paths.some((pattern) => pattern.covers(path)));
      expect(found).toEqual([]);
    },
  );

  // Git and GitHub need a repository that the sandbox may use.
  test.each(listed.filter(([preset, , , { injection }]) => injection.kind !== 'basic' && preset !== 'github'))(
    '%s: %s goes along to each path on its list for %s',
    async (_, name, host, { paths }) => {
      for (const { text } of paths ?? []) {
        const url = `https://${host.replace('*', 'x')}${filled(text)}`;
        const { outcome, credential } = await asked(wide, 'GET', url);
        expect([url, outcome, credential]).toEqual([url, 'allowed', name]);
      }
    },
  );
});
