import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { defaultEffects, githubEffects } from '../../../../src/path/github-effects.ts';
import { refusalStatus } from '../../../../src/path/refusal.ts';
import type { CompiledPolicy, Injection } from '../../../../src/policy/compiled.ts';
import { loadPresets, readPresets } from '../../../../src/policy/schema/presets.ts';
import { errorsOf, policyOf, pretendMachine } from '../pretend-machine.ts';

const names = [...loadPresets().presets.keys()];
const machine = pretendMachine({
  npm: 'https://registry.example/\n',
  files: { '/etc/apt/sources.list': 'deb http://mirror.example/apt stable main\n' },
});
const load = (preset: string): Promise<CompiledPolicy> =>
  policyOf(`version: 1\nallow: [{preset: ${preset}}]\n`, machine);

/** Which credential a path of a host gets, and how. */
function placed(policy: CompiledPolicy, host: string, path: string): { name: string; injection: Injection } | null {
  for (const spec of policy.credentialsFor(host)) {
    for (const placement of spec.placements) {
      if (!placement.hosts.some((pattern) => pattern.covers(host))) continue;
      if (placement.paths && !placement.paths.some((pattern) => pattern.covers(path))) continue;
      return { name: spec.name, injection: placement.injection };
    }
  }
  return null;
}

describe('every preset', () => {
  test('of the plan is there', () => {
    expect(names).toEqual([
      ...['anthropic', 'openai', 'chatgpt', 'google', 'github', 'gitlab', 'huggingface', 'mistral', 'groq', 'xai'],
      ...['openrouter', 'deepseek', 'perplexity', 'tavily', 'cohere', 'copilot', 'bedrock', 's3'],
      ...['npm', 'pypi', 'crates', 'golang', 'rubygems', 'maven', 'packagist', 'debian'],
    ]);
  });

  test.each(names)('%s compiles, allows at least one host, and reaches every host of its credentials', async (name) => {
    const policy = await load(name);
    expect(policy.allow.length).toBeGreaterThan(0);
    expect(policy.warnings).toEqual([]);
    expect(policy.allow.every((rule) => rule.name === `allow[0] (preset ${name})` && rule.line === 2)).toBe(true);
    for (const spec of policy.credentials.values()) {
      expect(spec.source).toEqual({ kind: 'memory' });
      expect(spec.stripHeaders).toContain('authorization');
      for (const host of spec.placements.flatMap((placement) => placement.hosts)) {
        // Which hosts of AWS can be reached is for the allowlist to say.
        if (spec.name === 'aws') continue;
        expect(policy.rulesFor(host.text.replace('*.', 'x.')).length, host.text).toBeGreaterThan(0);
      }
    }
  });

  test.each(names)('%s marks as git hosts only hosts that it allows', async (name) => {
    const policy = await load(name);
    for (const host of policy.gitHosts) expect(policy.rulesFor(host).length, host).toBeGreaterThan(0);
  });

  test('that has an inference API marks its host as one of models, so that budgets hold there', async () => {
    const talksAt = async (name: string, host: string): Promise<boolean> =>
      (await load(name)).rulesFor(host).some(({ conversation }) => conversation);
    for (const [name, host] of [
      ['anthropic', 'api.anthropic.com'],
      ['openai', 'api.openai.com'],
      ['chatgpt', 'chatgpt.com'],
      ['google', 'generativelanguage.googleapis.com'],
      ['google', 'us-central1-aiplatform.googleapis.com'],
      ['google', 'cloudcode-pa.googleapis.com'],
      ['huggingface', 'router.huggingface.co'],
      ['huggingface', 'api-inference.huggingface.co'],
      ['mistral', 'api.mistral.ai'],
      ['groq', 'api.groq.com'],
      ['xai', 'api.x.ai'],
      ['openrouter', 'openrouter.ai'],
      ['deepseek', 'api.deepseek.com'],
      ['perplexity', 'api.perplexity.ai'],
      ['cohere', 'api.cohere.com'],
      ['copilot', 'api.githubcopilot.com'],
      ['bedrock', 'bedrock-runtime.us-east-1.amazonaws.com'],
    ] as const) {
      expect(await talksAt(name, host), host).toBe(true);
    }
    expect(await talksAt('huggingface', 'huggingface.co')).toBe(false);
  });

  test('those that serve git are gitlab and huggingface; github.com needs no mark', async () => {
    const marked: Record<string, string[]> = {};
    for (const name of names) {
      const { gitHosts } = await load(name);
      if (gitHosts.size > 0) marked[name] = [...gitHosts];
    }
    expect(marked).toEqual({ gitlab: ['gitlab.com'], huggingface: ['huggingface.co'] });
  });

  test.each(names)('%s clears the very place its credential goes to', async (name) => {
    for (const spec of (await load(name)).credentials.values()) {
      expect(spec.stripHeaders).toEqual(spec.stripHeaders.map((header) => header.toLowerCase()));
      for (const { injection } of spec.placements) {
        if (injection.kind === 'header') expect(spec.stripHeaders).toContain(injection.header.toLowerCase());
        if (injection.kind === 'query') expect(spec.stripQuery).toContain(injection.parameter);
      }
    }
  });

  test('no package preset allows more than reading, and npm its audit', async () => {
    for (const name of ['npm', 'pypi', 'crates', 'golang', 'rubygems', 'maven', 'packagist', 'debian']) {
      for (const rule of (await load(name)).allow) {
        const audit = name === 'npm' && rule.methods?.has('POST');
        if (audit) expect(rule.paths?.map((path) => path.text)).toEqual(['/**/-/npm/v1/security/**']);
        else expect([...(rule.methods ?? [])]).toEqual(['GET', 'HEAD']);
      }
    }
  });

  test('a broken presets file stops the start and says where', () => {
    expect(() => readPresets('x: {about: a, alow: []}\n', 'presets.yaml')).toThrow(/presets.yaml:1:15: x.alow/);
  });
});

const bearer: Injection = { kind: 'header', header: 'Authorization', prefix: 'Bearer ' };

const vertex = '/v1/projects/p/locations/l/publishers/google';

describe('a credential goes to the paths of the API and to no other', () => {
  test.each<[string, string, string, string, Injection | null]>([
    [
      'anthropic',
      'api.anthropic.com',
      '/v1/messages',
      'anthropic',
      { kind: 'header', header: 'x-api-key', prefix: '' },
    ],
    ['anthropic', 'api.anthropic.com', '/api/event_logging/batch', '', null],
    ['anthropic', 'api.anthropic.com', '/v1', '', null],
    ['openai', 'api.openai.com', '/v1/responses', 'openai', bearer],
    ['openai', 'api.openai.com', '/dashboard/x', '', null],
    ['chatgpt', 'chatgpt.com', '/backend-api/codex/responses', 'chatgpt', bearer],
    ['chatgpt', 'chatgpt.com', '/backend-api/codex/analytics-events/events', '', null],
    [
      'google',
      'generativelanguage.googleapis.com',
      '/v1beta/models/g:generateContent',
      'google',
      { kind: 'header', header: 'x-goog-api-key', prefix: '' },
    ],
    ['google', 'generativelanguage.googleapis.com', '/$discovery/rest', '', null],
    ['google', 'us-central1-aiplatform.googleapis.com', `${vertex}/models/g:predict`, 'vertex', bearer],
    ['google', 'aiplatform.googleapis.com', `${vertex}/models/g:generateContent`, 'vertex', bearer],
    ['google', 'aiplatform.googleapis.com', '/v1/projects/p/x', '', null],
    ['github', 'api.github.com', '/repos/o/r', 'github', bearer],
    ['github', 'uploads.github.com', '/repos/o/r/releases/1/assets', 'github', bearer],
    ['github', 'github.com', '/o/r.git/info/refs', 'github', { kind: 'basic', username: 'x-access-token' }],
    ['github', 'github.com', '/o/r/git-receive-pack', 'github', { kind: 'basic', username: 'x-access-token' }],
    ['github', 'github.com', '/login/oauth/access_token', '', null],
    ['github', 'raw.githubusercontent.com', '/o/r/main/x', '', null],
    ['gitlab', 'gitlab.com', '/api/v4/projects', 'gitlab', bearer],
    ['gitlab', 'gitlab.com', '/g/sub/p.git/git-upload-pack', 'gitlab', { kind: 'basic', username: 'oauth2' }],
    ['gitlab', 'gitlab.com', '/users/sign_in', '', null],
    ['huggingface', 'huggingface.co', '/api/models/o/m', 'huggingface', bearer],
    ['huggingface', 'huggingface.co', '/o/m/resolve/main/config.json', 'huggingface', bearer],
    ['huggingface', 'huggingface.co', '/api/telemetry/x', '', null],
    ['huggingface', 'cdn-lfs.hf.co', '/x', '', null],
    ['mistral', 'api.mistral.ai', '/v1/chat/completions', 'mistral', bearer],
    ['groq', 'api.groq.com', '/openai/v1/models', 'groq', bearer],
    ['groq', 'api.groq.com', '/telemetry', '', null],
    ['xai', 'api.x.ai', '/v1/responses', 'xai', bearer],
    ['openrouter', 'openrouter.ai', '/api/v1/chat/completions', 'openrouter', bearer],
    ['openrouter', 'openrouter.ai', '/settings', '', null],
    ['deepseek', 'api.deepseek.com', '/chat/completions', 'deepseek', bearer],
    ['perplexity', 'api.perplexity.ai', '/chat/completions', 'perplexity', bearer],
    ['tavily', 'api.tavily.com', '/search', 'tavily', bearer],
    ['cohere', 'api.cohere.com', '/v2/chat', 'cohere', bearer],
  ])('%s: %s%s -> %s', async (preset, host, path, name, injection) => {
    const found = placed(await load(preset), host, path);
    expect(found).toEqual(injection === null ? null : { name, injection });
  });

  test('`add_paths` adds to the list, on the hosts of the API and not for git', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{preset: gitlab}]\ncredentials: {gitlab: {add_paths: ["/api/graphql", "/x/info/refs"]}}\n',
      machine,
    );
    expect(placed(policy, 'gitlab.com', '/api/graphql')).toEqual({ name: 'gitlab', injection: bearer });
    expect(placed(policy, 'gitlab.com', '/api/v4/projects')).toEqual({ name: 'gitlab', injection: bearer });
    expect(placed(policy, 'gitlab.com', '/y/info/refs')?.injection.kind).toBe('basic');
    expect(placed(await load('gitlab'), 'gitlab.com', '/api/graphql')).toBeNull();
  });

  test.each([
    ['aws: {add_paths: ["/x"]}', 'this credential goes to every path of its hosts: leave it out'],
    ['openai: {paths: ["/x"]}', 'the preset of this name brings its own list: write `add_paths` to add to it'],
    ['openai: {add_paths: []}', 'the list is empty: write at least one, or leave the key out'],
    ['mine: {hosts: a.example, inject: {bearer: true}, add_paths: ["/x"]}', 'unknown key'],
  ])('%s is an error in words', async (entry, words) => {
    const text = `version: 1\nallow: [{preset: openai}, {preset: s3}]\ncredentials: {${entry}}\n`;
    const errors = await errorsOf(text);
    expect(errors.map(({ message }) => message).join('\n')).toContain(words);
  });

  test('what the providers need besides the credential is there', async () => {
    const anthropic = (await load('anthropic')).credentials.get('anthropic')!;
    expect(anthropic.companionDefaults).toEqual([['anthropic-version', '2023-06-01']]);
    expect(anthropic.anonymous).toBe(false);
    const google = (await load('google')).credentials.get('google')!;
    expect(google.stripQuery).toContain('key');
    const gitlab = (await load('gitlab')).credentials.get('gitlab')!;
    expect(gitlab.stripHeaders).toContain('private-token');
    expect((await load('github')).credentials.get('github')!.anonymous).toBe(true);
  });
});

describe('the pages of docs/policy/ are complete', () => {
  // Tables may be padded.
  const page = (name: string): string =>
    readFileSync(new URL(`../../../../docs/policy/${name}`, import.meta.url), 'utf8').replace(/ +/g, ' ');

  test('every preset and its credentials stand in presets.md', () => {
    const items = page('presets.md').split(/^- /m);
    for (const preset of loadPresets().presets.values()) {
      const item = items.find((text) => text.startsWith(`\`${preset.name}\`: `));
      expect(item, preset.name).toBeDefined();
      for (const credential of preset.credentials) expect(item).toContain(`\`${credential.name}\``);
    }
  });

  test('every refusal code stands in refusals.md with its status, once, and no other', () => {
    const told = [...page('refusals.md').matchAll(/^- `([a-z0-9.-]+)` \((\d+)\): /gm)].map(([, code, status]) => [
      code,
      status,
    ]);
    const there = Object.entries(refusalStatus).map(([code, status]) => [code, String(status)]);
    expect(told.sort()).toEqual(there.sort());
  });

  test('every effect on GitHub stands in github.md, with what it means and whether it is allowed', () => {
    const rows = page('github.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const allowed = new Set<string>(defaultEffects);
    const there = Object.entries(githubEffects).map(
      ([effect, meaning]) => `| \`${effect}\` | ${meaning} |${allowed.has(effect) ? ' allowed' : ''} |`,
    );
    expect(rows.sort()).toEqual(there.sort());
  });
});
