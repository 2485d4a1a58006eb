import picocolors from 'picocolors';
import { describe, expect, test } from 'vitest';
import { describeDemo } from '../../../../src/cli/demo.ts';
import type { InsideReport, StepName } from '../../../../src/prove/demo/inside-script.ts';
import { type DemoFacts, insideOrder, judgeDemo, masked } from '../../../../src/prove/demo/judge-demo.ts';
import type { SeenRequest } from '../../../../src/prove/internet/pretend-world.ts';

const key = 'sk-ant-api03-0123456789abcdef0123456789';
const order = insideOrder('/tmp/demo/keys/anthropic');
const seen = (more: Partial<SeenRequest>): SeenRequest => ({
  method: 'GET',
  host: 'api.anthropic.com',
  url: '/v1/messages',
  scheme: 'https',
  headers: {},
  body: '',
  ...more,
});
const refusal = (code: string): Partial<InsideReport> => ({
  status: 403,
  refusedAs: code,
  text: JSON.stringify({ error: `words of ${code}`, code }),
});
const reports: Record<StepName, Partial<InsideReport>> = {
  model: { status: 200, text: '{"content":[{"type":"text","text":"Hello"}]}', sentKey: 'sk-ant-placeholder' },
  'key-file': { status: 1, text: 'ENOENT: no such file' },
  clone: { status: 0 },
  host: refusal('domain.not-allowed'),
  address: refusal('target.literal-address'),
  'push-main': { status: 1, text: 'remote: - main is a protected branch (rule: x)      \r\n' },
  'push-force': { status: 1, text: 'remote: - this push would rewrite sandbox/work\n' },
  'foreign-repository': refusal('repo.not-allowed'),
  'delete-repository': refusal('policy.blocked-api'),
};
const codes = [
  'domain.not-allowed',
  'target.literal-address',
  'push.protected-branch',
  'push.force',
  'repo.not-allowed',
  'policy.blocked-api',
];

function facts(
  changed: Partial<Record<StepName, Partial<InsideReport>>> = {},
  more: Partial<DemoFacts> = {},
): DemoFacts {
  return {
    reports: Object.entries({ ...reports, ...changed }).map(([step, report]) => ({
      step: step as StepName,
      status: null,
      refusedAs: null,
      text: '',
      ...report,
    })),
    seen: [seen({ method: 'POST', headers: { 'x-api-key': key } })],
    journal: codes,
    refs: { before: 'a', after: 'a' },
    key,
    order,
    ...more,
  };
}

describe('the demonstration shows what happened', () => {
  test('one that worked, six that were refused, in the words that were said', () => {
    const { worked, refused, problems } = judgeDemo(facts());
    expect(problems).toEqual([]);
    expect(worked).toMatchObject({ sandboxHolds: 'sk-ant-placeholder', answer: 'Hello', status: 200 });
    expect(worked.providerGot).toBe('sk-ant-api03-0123… (39 characters)');
    expect(refused.map(({ code }) => code)).toEqual(codes);
    expect(refused[0]!.words).toBe('words of domain.not-allowed');
    expect(refused[2]!.words).toBe('main is a protected branch (rule: x)');
  });

  test.each<[string, Partial<Record<StepName, Partial<InsideReport>>>, Partial<DemoFacts>, RegExp]>([
    ['a request that failed', { model: { status: 502, sentKey: 'x', text: 'bad' } }, {}, /should work got 502/],
    ['a provider that got no key', {}, { seen: [seen({ method: 'POST' })] }, /did not receive the key/],
    ['a sandbox that holds the key', { model: { ...reports.model, sentKey: key } }, {}, /not hold a placeholder/],
    ['a key that came back', { address: { ...reports.address, text: `{"error":"${key}"}` } }, {}, /got to see the key/],
    ['a key file that can be read', { 'key-file': { status: 0, text: 'something' } }, {}, /could read/],
    ['a clone that failed', { clone: { status: 128, text: 'fatal' } }, {}, /clone of acme\/widgets failed/],
    ['a host that answered', { host: { status: 200, text: 'welcome' } }, {}, /attacker\.example.*domain\.not-allowed/],
    [
      'an answer that only looks like a refusal',
      { address: { ...reports.address, refusedAs: null } },
      {},
      /203\.0\.113\.9.*literal-address/,
    ],
    ['a push that was taken', { 'push-main': { status: 0, text: 'ok' } }, {}, /HEAD:main.*push\.protected-branch/],
    ['a refusal that was not written down', {}, { journal: codes.slice(1) }, /the journal has no domain\.not-allowed/],
    ['a ref that moved', {}, { refs: { before: 'a', after: 'b' } }, /ref of a repository has changed/],
    ['a step that never came', { 'delete-repository': {} }, {}, /DELETE.*no answer/],
  ])('%s is a problem', (_, changed, more, problem) => {
    expect(judgeDemo(facts(changed, more)).problems.join('\n')).toMatch(problem);
  });

  test('a refused request that arrived all the same is a problem, each by its own', () => {
    const arrived: Partial<SeenRequest>[] = [
      { host: 'attacker.example' },
      { host: '203.0.113.9' },
      { method: 'POST', host: 'github.com', url: '/acme/widgets.git/git-receive-pack' },
      { host: 'api.github.com', url: '/repos/acme/payroll' },
      { host: 'api.github.com', method: 'DELETE', url: '/repos/acme/widgets' },
    ];
    for (const one of arrived) {
      const { problems } = judgeDemo(facts({}, { seen: [...facts().seen, seen(one)] }));
      expect(problems.join('\n'), JSON.stringify(one)).toContain('arrived at the provider');
    }
  });

  test('a key is never shown whole', () => {
    expect(masked(key)).not.toContain(key.slice(0, 20));
    expect(masked('short-key')).toBe('… (9 characters)');
  });
});

describe('one screen', () => {
  const colors = picocolors.createColors(false);
  const shown = { launcher: 'bubblewrap', seconds: 2.1 };

  test('24 lines of 100 columns at most, however long the words are', () => {
    const long = { error: 'words '.repeat(60), code: 'repo.not-allowed' };
    const text = JSON.stringify(long);
    const verdict = judgeDemo(facts({ 'foreign-repository': { status: 403, refusedAs: long.code, text } }));
    const lines = describeDemo({ colors }, { ...verdict, sandbox: 'sbx_1', sandboxMs: 900 }, shown).split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(100);
    expect(lines.filter((line) => line.startsWith('refused'))).toHaveLength(6);
    expect(lines.at(-1)).toContain('sallyport run -- claude');
  });

  test('what went wrong is said loudly, and nothing is claimed', () => {
    const verdict = judgeDemo(facts({ host: { status: 200, text: 'wel\u001b[2Jcome' } }));
    const text = describeDemo({ colors }, { ...verdict, sandbox: 'sbx_1', sandboxMs: 900 }, shown);
    expect(text).toContain('SOMETHING IS WRONG');
    expect(text).not.toContain('None of the six');
    expect(text).not.toContain('\u001b');
  });
});
