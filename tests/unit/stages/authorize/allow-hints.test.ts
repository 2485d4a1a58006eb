import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { ApprovalsInForce } from '../../../../src/gateway/approvals/approvals-in-force.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Permission } from '../../../../src/path/flow.ts';
import { madeRequest } from '../../../../src/path/made-request.ts';
import type { CompiledPolicy } from '../../../../src/policy/compiled.ts';
import { loadPolicy, loadPolicyText } from '../../../../src/policy/load/load-policy.ts';
import { thisMachine } from '../../../../src/policy/load/machine-files.ts';
import { canonicalise } from '../../../../src/stages/accept/accept-stage.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';

const machine = { ...thisMachine(), run: async () => null };
const text = `version: 1
allow:
  - preset: anthropic
  - preset: openai
  - host: api.example.com
    methods: [GET]
    paths: ["/v1/**"]
  - host: api.example.com
    methods: [GET, POST]
    paths: ["/v2/*"]
  - host: odd.example.com
    ports: [8443]
  - host: "*.wild.example.com"
  - host: pinned.example.com
    tunnel: true
`;

interface Entry {
  methods?: string[];
  paths?: string[];
  ports?: number[];
  plain_http?: boolean;
}

async function policyOf(document: string): Promise<CompiledPolicy> {
  const result = await loadPolicyText(document, '/etc/sallyport.yaml', '/etc', machine);
  if (!result.ok) throw new Error(result.errors.map(({ message }) => message).join('; '));
  return result.policy;
}

function ask(policy: CompiledPolicy, method: string, url: string): Permission {
  const scheme = url.startsWith('https:') ? 'https' : 'http';
  const authority = /^https?:\/\/([^/]*)/.exec(url)![1]!;
  const canonical = canonicalise(madeRequest(scheme, method, url, HeaderList.from([['Host', authority]])));
  return decide(policy, sandboxWith(), canonical, new HeaderList());
}

/** Does to the document what the hint says, word by word. */
function followed(document: string, hint: string): string {
  const changed = parse(document) as { allow: Entry[] };
  const added = /under allow:\n((?: {2}.*\n?)+)/.exec(hint);
  if (added !== null) return stringify({ ...changed, allow: [...changed.allow, ...(parse(added[1]!) as Entry[])] });
  const at = changed.allow[Number(/allow\[(\d+)\]/.exec(hint)![1])]!;
  const [, key] = /(methods|paths|ports|plain_http)(?:: \S+)?(?: of| to| in|: \[)/.exec(hint)!;
  if (key === 'methods') at.methods!.push(/Add (\S+) to methods/.exec(hint)![1]!);
  else if (key === 'paths') at.paths!.push(...(parse(`[${/Add (.*) to paths/.exec(hint)![1]}]`) as string[]));
  else if (key === 'ports') at.ports = parse(/ports: (\[[^\]]*\])/.exec(hint)![1]!) as number[];
  else at.plain_http = true;
  return stringify(changed);
}

describe('a policy that is changed as the hint says is valid, and lets the very request pass', () => {
  test.each([
    // Of a preset: it takes no keys of its own.
    ['PUT', 'https://platform.claude.com/v1/oauth/token', 'method.not-allowed'],
    ['POST', 'https://platform.claude.com/v1/other', 'path.not-allowed'],
    ['GET', 'https://chatgpt.com/', 'path.not-allowed'],
    ['GET', 'https://api.openai.com:8443/v1/models', 'target.port'],
    ['GET', 'http://api.openai.com/v1/models', 'domain.plain-http'],
    // An effect of a provider.
    ['POST', 'https://api.openai.com/v1/realtime/client_secrets', 'provider.effect'],
    ['POST', 'https://api.openai.com/v1/Realtime%2FSessions/', 'provider.effect'],
    ['GET', 'https://api.anthropic.com/v1/sessions/a%7Bb%7D%22', 'provider.effect'],
    // Of entries with a host.
    ['PUT', 'https://api.example.com/v1/x', 'method.not-allowed'],
    ['PUT', 'https://api.example.com/v3/x', 'method.not-allowed'],
    ['GET', 'https://api.example.com/v3/x', 'path.not-allowed'],
    ['GET', 'https://api.example.com/v3/group%2Fproject/issues', 'path.not-allowed'],
    ['GET', 'https://api.example.com/v3/a%7Bb%7D%5B%22%5D%25/%C3%A9', 'path.not-allowed'],
    ['GET', `https://api.example.com/v3/${'x'.repeat(600)}`, 'path.not-allowed'],
    ['GET', 'https://api.example.com:8443/v1/x', 'target.port'],
    ['DELETE', 'https://api.example.com:8443/v1/x', 'target.port'],
    ['GET', 'https://odd.example.com/', 'target.port'],
    ['GET', 'http://api.example.com/v1/x', 'domain.plain-http'],
    ['POST', 'http://api.example.com/v1/x', 'domain.plain-http'],
    ['GET', 'http://api.example.com:8080/v1/x', 'domain.plain-http'],
    ['GET', 'http://odd.example.com/', 'domain.plain-http'],
    ['GET', 'https://new.example.com/', 'domain.not-allowed'],
    ['GET', 'http://new.example.com:8080/', 'domain.not-allowed'],
  ])('%s %s', async (method, url, code) => {
    const policy = await policyOf(text);
    const refusal = refusalOf(() => ask(policy, method, url));
    expect(refusal.code).toBe(code);
    expect(refusal.hint.length).toBeLessThan(1024);
    const changed = await policyOf(followed(text, refusal.hint));
    expect(ask(changed, method, url).rule).toMatch(/^allow\[\d+\]$/);
  });

  test('an effect that is named carries the credential, and no other effect or path passes with it', async () => {
    const unchanged = await policyOf(text);
    const mint = 'https://api.openai.com/v1/realtime/client_secrets';
    const { hint } = refusalOf(() => ask(unchanged, 'POST', mint));
    expect(hint).toContain('effects: [mint-credential]');
    expect(hint).not.toContain('sallyport.internal');
    const changed = await policyOf(followed(text, hint));
    expect(ask(changed, 'POST', mint).credential).toBe('openai');
    expect(refusalOf(() => ask(changed, 'GET', mint)).code).toBe('provider.effect');
    expect(refusalOf(() => ask(changed, 'POST', 'https://api.openai.com/v1/organization')).code).toBe(
      'provider.effect',
    );
    expect(refusalOf(() => ask(changed, 'POST', 'https://api.openai.com/v1/assistants')).code).toBe('provider.effect');
  });

  test('a port that is added takes none away', async () => {
    const policy = await policyOf(text);
    const refusal = refusalOf(() => ask(policy, 'GET', 'https://odd.example.com/'));
    const changed = await policyOf(followed(text, refusal.hint));
    expect(ask(changed, 'GET', 'https://odd.example.com/').rule).toBe('allow[4]');
    expect(ask(changed, 'GET', 'https://odd.example.com:8443/').rule).toBe('allow[4]');
  });

  test.each([
    ['POST', 'https://a.reads.example.com/v1/x', '    methods: [POST]\n    paths: ["/v1/x"]\n'],
    ['GET', 'http://a.reads.example.com/v1/x', '    plain_http: true\n    ports: [80]\n'],
    ['GET', 'https://a.reads.example.com:8443/', '    ports: [8443]\n'],
    ['GET', 'https://a.reads.example.com/other', '    paths: ["/other"]\n'],
    // Too long to be written out: no wider than needed.
    ['GET', `https://a.reads.example.com/v2/files/${'x'.repeat(300)}/y`, '    paths: ["/v2/files/**"]\n'],
    ['GET', `https://a.reads.example.com/${'x'.repeat(300)}`, '    paths: ["/**"]\n'],
  ])('what a wildcard does not cover is added for this host alone: %s %s', async (method, url, line) => {
    const wild = `${text}  - host: "*.reads.example.com"\n    methods: [GET]\n    paths: ["/v1/**"]\n`;
    const policy = await policyOf(wild);
    const { hint } = refusalOf(() => ask(policy, method, url));
    expect(hint).toContain('  - host: a.reads.example.com\n');
    expect(hint).toContain(line);
    expect(hint).not.toMatch(/allow\[7\]/);
    const changed = await policyOf(followed(wild, hint));
    expect(ask(changed, method, url).rule).toBe('allow[8]');
    expect(() => ask(changed, method, url.replace('//a.', '//b.'))).toThrow();
  });

  test('where there is no file yet, a host is allowed by one that `sallyport init` writes: nothing else is lost', async () => {
    const url = 'https://new.example.com/';
    const defaults = await loadPolicy(null, machine);
    if (!defaults.ok) throw new Error('the default is not valid');
    const { hint } = refusalOf(() => ask(defaults.policy, 'GET', url));
    expect(hint).toContain('There is no sallyport.yaml yet: `sallyport init` writes one that allows what is allowed');
    expect(hint).toContain('under allow:\n  - host: new.example.com');
    const own = await policyOf(text);
    expect(refusalOf(() => ask(own, 'GET', url)).hint).not.toContain('sallyport init');
  });

  test('what a person has approved stands in no file, and cannot be added to', async () => {
    const policy = await policyOf(text);
    const inForce = new ApprovalsInForce();
    const covers = { kind: 'request', scheme: 'https', host: 'new.example.com', port: 443, method: 'GET', path: '/a' };
    const more = { tunnel: false, websocket: false, credential: null };
    const approval = { id: 'a1', sandbox: 'sbx_1', untilMs: Date.now() + 60_000, by: 'me' };
    inForce.replace({ approvals: [{ ...approval, covers: { ...covers, ...more } as never }], learning: [] });
    const view = inForce.policyFor(policy, 'sbx_1');
    expect(ask(view, 'GET', 'https://new.example.com/a').rule).toBe('approval a1');
    for (const [method, url] of [
      ['POST', 'https://new.example.com/a'],
      ['GET', 'https://new.example.com/b'],
      ['GET', 'https://new.example.com:8443/a'],
      ['GET', 'http://new.example.com/a'],
    ] as const) {
      const { hint } = refusalOf(() => ask(view, method, url));
      expect(hint).not.toContain('approval a1');
      expect(hint).toContain('POST http://sallyport.internal/requests');
      expect(ask(await policyOf(followed(text, hint)), method, url).rule).toBe('allow[7]');
    }
  });

  test('a pattern of the default stands in no line that could be removed: a block without it takes its place', async () => {
    const policy = await policyOf(text);
    const url = 'https://a.wild.example.com/repos/o/r';
    const { hint, code } = refusalOf(() => ask(policy, 'DELETE', url));
    expect(code).toBe('policy.blocked-api');
    expect(hint).toContain('write policy.blocked_api_patterns without that pattern');
    const without = await policyOf(`${text}policy: { blocked_api_patterns: { PUT: ["^/never$"] } }\n`);
    expect(ask(without, 'DELETE', url).rule).toBe('allow[5]');
  });

  test('a method that no entry can name is not put into one', async () => {
    const policy = await policyOf(text);
    const headers = HeaderList.from([['X-HTTP-Method-Override', '*x, y]']]);
    const url = 'https://api.example.com/v1/x';
    const canonical = canonicalise(madeRequest('https', 'GET', url, HeaderList.from([['Host', 'api.example.com']])));
    const { hint } = refusalOf(() => decide(policy, sandboxWith(), canonical, headers));
    expect(hint).toBe('Allowed there: GET, POST. Only a rule that names no methods covers such a one.');
  });
});
