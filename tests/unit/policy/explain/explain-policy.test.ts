import { describe, expect, test } from 'vitest';
import { defaultEffects, githubEffects } from '../../../../src/path/github-effects.ts';
import {
  type ExplainOptions,
  explainPolicy,
  type PolicySection,
} from '../../../../src/policy/explain/explain-policy.ts';
import { embeddedDefault } from '../../../../src/policy/load/load-policy.ts';
import { policyOf, pretendMachine } from '../pretend-machine.ts';

const bot = { repos: ['acme/widgets'], authMode: 'bot', allowedBranches: ['sandbox/*'], credentials: null } as const;
const operator: ExplainOptions = { audience: 'operator' };
const inside: ExplainOptions = { audience: 'sandbox' };

function textOf(sections: readonly PolicySection[]): string {
  return sections.map(({ title, sentences }) => [`# ${title}`, ...sentences].join('\n')).join('\n');
}

async function explained(text: string, options = operator, sandbox: Parameters<typeof explainPolicy>[1] = bot) {
  return textOf(explainPolicy(await policyOf(text), sandbox, options));
}

const rich = `version: 1
listen: {proxy: 127.0.0.1:9999, dashboard: 127.0.0.1:8642}
allow:
  - preset: anthropic
  - preset: github
  - {host: api.example.com, methods: [GET, POST], paths: ["/v1/**"], ports: [8443]}
  - {host: "*.pinned.example", tunnel: true}
  - {host: old.example, plain_http: true}
  - {host: [one.example, two.example], methods: [GET]}
  - {host: "*", methods: [GET], ask: true}
credentials:
  anthropic: {source: {file: /run/secrets/hidden-place}}
  mine:
    hosts: api.example.com
    paths: [/v1/**]
    inject: {header: x-mine}
    source: {command: [/opt/vault-tool, show]}
policy: {protected_branches: [main, "release/*"], protected_paths: [ci/**], allow_branch_deletion: true}
github: {hosts: [ghe.example], effects: {bot: {allow: [release], ask: [merge], block: [issue]}}}
approvals: {answer_within_seconds: 45}
limits: {requests_per_minute: 77, burst: 9, upload_bytes_per_minute: 2097152, credential: {pushes_per_minute: 3}}
budgets: {period: week, sandbox: {dollars: 12.5}, gateway: {tokens: 1000000}}
secrets: {misplaced: revoke, conversations: refuse}
store: redis://shared-store.example:6379/0
upstream: {resolve: {api.example.com: "10.9.8.7:8443"}, proxy: "http://corp-proxy.example:3128"}
`;

describe('the policy in sentences', () => {
  test('the embedded default can be read by a stranger: hosts by preset, repositories, effects, what is always refused', async () => {
    const policy = await policyOf(embeddedDefault, pretendMachine({ npm: 'https://registry.example/' }));
    const text = textOf(explainPolicy(policy, bot, operator));
    expect(text).toContain('api.anthropic.com: every method and path. Preset anthropic: Claude API');
    expect(text).toContain('registry.example: GET, HEAD (reading). Preset npm');
    expect(text).toContain('Every other host is refused, and its name does not resolve.');
    expect(text).toContain('anthropic goes to api.anthropic.com (/v1/messages, /v1/messages/**, /v1/complete,');
    expect(text).toContain('The sandbox may fetch from, and push to, acme/widgets.');
    expect(text).toContain('Nobody pushes to the protected branches main and master.');
    expect(text).toContain('Nothing in this policy asks a person.');
    expect(text).toContain('Addresses in place of names');
    expect(text).not.toMatch(/undefined|null|\[object/);
  });

  test('every rule of the allowlist is said: methods, paths, ports, tunnels, plain http and what asks a person', async () => {
    const text = await explained(rich);
    expect(text).toContain('api.example.com: GET, POST on /v1/**, on port 8443 (allow[2], line 6).');
    expect(text).toContain('*.pinned.example: anything, passed on undecrypted and without a credential');
    expect(text).toContain('old.example: every method and path, also over plain http');
    expect(text).toContain('one.example and two.example: GET (reading)');
    // Also a host that another entry names, where that one does not cover the request.
    expect((await policyOf(rich)).rulesFor('one.example').map(({ name }) => name)).toEqual(['allow[5]', 'allow[6]']);
    expect(text).toContain('Every host, for what no other entry covers: GET (reading), after a person has agreed');
    expect(text).not.toContain('Every other host is refused');
    expect(text).toContain('waits at the door for up to 45 seconds');
  });

  test('git, GitHub, limits, budgets and secrets say what was set', async () => {
    const text = await explained(rich);
    expect(text).toContain('Nobody pushes to the protected branches main and release/*.');
    expect(text).toContain('A branch that is not protected may be deleted');
    expect(text).toContain('No commit of a push may change ci/**.');
    expect(text).toContain(`Allowed: release (${githubEffects.release}).`);
    expect(text).toContain(`After a person has agreed: merge (${githubEffects.merge}).`);
    expect(text).toMatch(/Refused: .*\bissue\b/);
    expect(text).toContain('77 requests a minute (9 at once)');
    expect(text).toContain('2 MiB a minute to send');
    expect(text).toContain('One sandbox may use 12.5 US dollars of models in one week (UTC).');
    expect(text).toContain('the sandbox is unregistered');
    expect(text).toContain('A placeholder in a conversation with a model is refused as well.');
    expect(text).toContain('DELETE on any host, whatever else allows it, where the path matches');
  });

  test.each([
    ['by a wildcard', '- host: "*.corp.example"'],
    ['by its own name', '- host: git.corp.example'],
    ['after a person has agreed', '- {host: "*", ask: true}'],
  ])('repositories and pushes are spoken of where a host of git is reached %s', async (_how, entry) => {
    const policy = (rule: string) => `version: 1\nallow:\n  ${rule}\ngit: {hosts: [git.corp.example]}\n`;
    const text = await explained(policy(entry));
    expect(text).toContain('On hosts of git, GitHub among them, each call is judged by its repository');
    expect(text).toContain('# Repositories\nThe sandbox may fetch from, and push to, acme/widgets.');
    expect(text).toContain('Nobody pushes to the protected branches');
    for (const other of ['- host: "*.other.example"', '- {host: "*.corp.example", tunnel: true}']) {
      expect(await explained(policy(other))).not.toMatch(/# Repositories|On hosts of git/);
    }
  });

  test('it is that of one sandbox: its mode, its repositories, its branches, its credentials', async () => {
    const own = { repos: ['o/*'], authMode: 'user', allowedBranches: [], credentials: ['mine'] } as const;
    const text = await explained(rich, operator, own);
    expect(text).toContain('push to, o/*.');
    expect(text).toContain('every branch that is not protected');
    expect(text).toContain('mine goes to api.example.com (/v1/**) as x-mine.');
    expect(text).toContain('Not for this sandbox: anthropic and github.');
    expect(text).not.toContain('anthropic goes to');
    // What was set for bots does not hold for it.
    expect(text).toMatch(/Refused: .*\bmerge\b/);
    expect(await explained(rich, operator, { ...bot, repos: [] })).toContain('No repository may be used');
    expect(await explained(rich, operator, { ...bot, credentials: [] })).toContain('may use no credential');
  });

  test('every effect of GitHub is said, and each once', async () => {
    for (const options of [inside, { ...operator, full: true }]) {
      const text = await explained(rich, options);
      for (const [effect, words] of Object.entries(githubEffects)) {
        expect(text.split(`: ${effect} (${words})`).length, effect).toBe(2);
      }
    }
    expect(defaultEffects.length).toBeGreaterThan(0);
  });

  test('a sandbox is told nothing that is the operator’s: no files, commands, sources, addresses, doors or limits of others', async () => {
    const hidden = [
      ...[
        '/run/secrets',
        'hidden-place',
        'vault-tool',
        'a file',
        'a command',
        '10.9.8.7',
        'corp-proxy',
        'shared-store',
      ],
      ...['9999', '8642', 'ghe.example', 'secret set', 'allow[', 'line ', 'all sandboxes', '1,000,000', 'journal'],
    ];
    const own = { ...bot, credentials: ['mine'] };
    const told = await explained(rich, { ...inside, isSet: () => false }, own);
    for (const word of hidden) expect(told, word).not.toContain(word);
    expect(told).not.toContain('anthropic goes');
    expect(told).toContain('http://sallyport.internal/requests');
    // The operator is told them: else this would prove nothing.
    const all = await explained(rich);
    for (const word of ['10.9.8.7', 'corp-proxy', 'shared-store', '9999', '8642', 'a file', 'a command', 'journal']) {
      expect(all, word).toContain(word);
    }
  });

  test('whether a credential is set is said where it is known', async () => {
    const isSet = (name: string): boolean => name === 'mine';
    const text = await explained(rich, { ...operator, isSet });
    expect(text).toContain('as x-mine. Its value comes from a command. It is set.');
    expect(text).toMatch(/anthropic goes .* It is not set, so requests that need it are refused\./);
    expect(await explained(rich)).toContain('Without a value, requests go without it.');
  });

  test('a long list of hosts is counted, unless all are asked for', async () => {
    const hosts = Array.from({ length: 30 }, (_, i) => `h${i}.example`);
    const text = `version: 1\nallow: [{host: [${hosts.join(', ')}]}]\n`;
    expect(await explained(text)).toContain('h5.example and 24 more');
    expect(await explained(text, { ...operator, full: true })).toContain('h28.example and h29.example');
  });

  test('an allowlist with nothing in it says so', async () => {
    expect(await explained('version: 1\nallow: []\n')).toContain('No host may be reached');
  });
});
