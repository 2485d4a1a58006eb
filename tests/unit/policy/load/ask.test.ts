import { describe, expect, test } from 'vitest';
import { loadPolicyText } from '../../../../src/policy/load/load-policy.ts';
import { pretendMachine } from '../pretend-machine.ts';

const load = (text: string) => loadPolicyText(`version: 1\n${text}\n`, '/etc/sallyport.yaml', '/etc', pretendMachine());

async function policyOf(text: string) {
  const result = await load(text);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.policy;
}

async function errorsOf(text: string): Promise<string[]> {
  const result = await load(text);
  return result.ok ? [] : result.errors.map(({ line, message }) => `${line}: ${message}`);
}

describe('an entry of allow may say ask', () => {
  test('the first entry that covers a request decides: exact hosts, then wildcards, then *', async () => {
    const policy = await policyOf(`allow:
  - { host: "*", ask: true }
  - { host: "*.example.com", ask: true }
  - { host: api.example.com, methods: [DELETE], ask: true }
  - { host: api.example.com }`);
    const names = (host: string) => policy.rulesFor(host).map(({ name, ask }) => `${name} ${ask}`);
    expect(names('api.example.com')).toEqual(['allow[2] true', 'allow[3] false', 'allow[1] true', 'allow[0] true']);
    expect(names('other.example')).toEqual(['allow[0] true']);
  });

  test('* alone, without ask, is refused', async () => {
    expect(await errorsOf('allow: [{ host: "*" }]')).toEqual([expect.stringMatching(/^2: `\*` would allow the whole/)]);
  });

  test('* is never an undecrypted tunnel, which nobody could be asked about', async () => {
    expect(await errorsOf('allow: [{ host: "*", tunnel: true, ask: true }]')).toEqual([
      expect.stringMatching(/remove `tunnel`/),
    ]);
  });

  test('a * in front of a name is still a wildcard for its subdomains alone', async () => {
    const policy = await policyOf('allow: [{ host: "*.example.com", ask: true }]');
    expect(policy.rulesFor('example.com')).toEqual([]);
  });

  test.each([
    ['the same', '{ host: a.example }', '{ host: a.example, ask: true }'],
    [
      'a part of its methods',
      '{ host: a.example, methods: [GET, POST] }',
      '{ host: a.example, methods: [POST], ask: true }',
    ],
    ['a part of its paths', '{ host: a.example }', '{ host: a.example, paths: ["/x/**"], ask: true }'],
    ['a preset', '{ preset: anthropic }', '{ host: api.anthropic.com, paths: ["/v1/**"], ask: true }'],
  ])('one that never comes first is an error that says where to put it: %s', async (_, first, second) => {
    expect(await errorsOf(`allow:\n  - ${first}\n  - ${second}`)).toEqual([
      expect.stringMatching(
        /^4: allow\[0\].* lets all of this pass before anybody is asked: put this entry before it$/,
      ),
    ]);
  });

  test.each([
    ['before it', '{ host: a.example, ask: true }', '{ host: a.example }'],
    ['beside its methods', '{ host: a.example, methods: [GET] }', '{ host: a.example, ask: true }'],
    ['beside its paths', '{ host: a.example, paths: ["/x"] }', '{ host: a.example, ask: true }'],
    ['beside its ports', '{ host: a.example, ports: [443] }', '{ host: a.example, ports: [443, 8443], ask: true }'],
  ])('one that may come first stands: %s', async (_, first, second) => {
    expect(await errorsOf(`allow:\n  - ${first}\n  - ${second}`)).toEqual([]);
  });
});

describe('github.effects may say ask', () => {
  test('what is asked about is allowed when a person says so, and blocked wins', async () => {
    const policy = await policyOf(
      'allow: [{ preset: github }]\ngithub: { effects: { bot: { ask: [release, merge], block: [merge] } } }',
    );
    expect([...policy.githubAsks.bot]).toEqual(['release']);
    expect(policy.githubEffects.bot.has('release')).toBe(true);
    expect(policy.githubEffects.bot.has('merge')).toBe(false);
    expect([...policy.githubAsks.user]).toEqual([]);
    expect(policy.githubEffects.user.has('release')).toBe(false);
  });
});

test('an effect that a blocked pattern refuses before anybody is asked is worth a warning', async () => {
  const asks = 'allow: [{ preset: github }]\ngithub: { effects: { bot: { ask: [merge] } } }\n';
  const warningsOf = async (more: string) =>
    (await policyOf(asks + more)).warnings.filter((warning) => warning.startsWith('github.effects'));
  expect(await warningsOf('')).toEqual([expect.stringContaining('policy.blocked_api_patterns.PUT[0] refuses it')]);
  expect(await warningsOf('policy: { blocked_api_patterns: { DELETE: ["^/repos/"] } }')).toEqual([]);
});

test('how long a question waits, and how many, has bounds of its own', async () => {
  const text = 'allow: [{ host: a.example }]\napprovals: { answer_within_seconds: 30, held: 7, held_per_sandbox: 3 }';
  expect((await policyOf(text)).approvals).toEqual({ answerWithinMs: 30_000, held: 7, heldPerSandbox: 3 });
});
