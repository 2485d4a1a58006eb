import { describe, expect, test } from 'vitest';
import { describePolicy } from '../../../src/policy/explain/explain-policy.ts';
import { errorsOf, policyOf, pretendMachine } from './pretend-machine.ts';

const messages = async (text: string): Promise<string> =>
  (await errorsOf(text)).map((error) => error.message).join('\n');

describe('the allowlist', () => {
  test('finds the rules of a host, exact ones before wildcards', async () => {
    const policy = await policyOf(`version: 1
allow:
  - host: "*.example.com"
  - host: [api.example.com, www.example.com]
    methods: [GET]
  - host: "*.b.example.com"
`);
    expect(policy.rulesFor('api.example.com').map((rule) => rule.name)).toEqual(['allow[1]', 'allow[0]']);
    expect(policy.rulesFor('a.b.example.com').map((rule) => rule.name)).toEqual(['allow[0]', 'allow[2]']);
    expect(policy.rulesFor('example.com')).toEqual([]);
    expect(policy.rulesFor('www.example.com')[0]).toMatchObject({
      line: 4,
      tunnel: false,
      plainHttp: false,
      ports: [443],
    });
  });

  test('port 80 joins only where plain http is allowed, and named ports replace the default', async () => {
    const policy = await policyOf(`version: 1
allow:
  - { host: a.example, plain_http: true }
  - { host: b.example }
  - { host: c.example, ports: [8443], plain_http: true }
`);
    expect(policy.allow.map((rule) => [rule.ports, rule.plainHttp])).toEqual([
      [[443, 80], true],
      [[443], false],
      [[8443], true],
    ]);
  });

  test('a tunnel takes no keys that need decryption and does not share its host with a decrypted rule', async () => {
    expect(await messages('version: 1\nallow: [{host: a.example, tunnel: true, paths: ["/x"]}]\n')).toContain(
      'not decrypted',
    );
    expect(await messages('version: 1\nallow: [{host: a.example}, {host: a.example, tunnel: true}]\n')).toContain(
      'keep one',
    );
  });

  test('without entries it allows nothing, and says so', async () => {
    const policy = await policyOf('version: 1\n');
    expect(policy.rulesFor('api.anthropic.com')).toEqual([]);
    expect(policy.warnings.join()).toContain('every request will be refused');
  });
});

describe('credentials', () => {
  test('of a preset need only a source; companions are always set', async () => {
    const policy = await policyOf(`version: 1
allow: [{ preset: openai }]
credentials:
  openai:
    source: { file: /run/secrets/openai }
    companions: { OpenAI-Organization: org-example }
`);
    const spec = policy.credentials.get('openai')!;
    expect(spec.source).toEqual({ kind: 'file', path: '/run/secrets/openai' });
    expect(spec.companionForced).toEqual([['OpenAI-Organization', 'org-example']]);
    expect(spec.line).toBe(4);
    expect(policy.credentialsFor('api.openai.com')).toEqual([spec]);
    expect(policy.credentialsFor('openai.com')).toEqual([]);
  });

  test('of your own name hosts and form, and clear every common place of auth', async () => {
    const policy = await policyOf(`version: 1
allow: [{ host: api.example.com }, { host: b.example }, { host: c.example }]
credentials:
  one: { hosts: api.example.com, paths: ["/v1/**"], inject: { header: X-Key, prefix: "Token " } }
  two: { hosts: [b.example], inject: { basic: { username: ann } }, source: { command: [pass, show, two] } }
  three: { hosts: [c.example], inject: { query: key }, anonymous: true }
`);
    const [one, two, three] = ['one', 'two', 'three'].map((name) => policy.credentials.get(name)!);
    expect(one!.placements[0]!.injection).toEqual({ kind: 'header', header: 'X-Key', prefix: 'Token ' });
    expect(one!.stripHeaders).toEqual(expect.arrayContaining(['authorization', 'x-key', 'x-api-key', 'cookie']));
    expect(one!.source).toEqual({ kind: 'memory' });
    expect(two!.source).toEqual({ kind: 'command', argv: ['pass', 'show', 'two'], ttlSeconds: 300 });
    expect(two!.placements[0]!.injection).toEqual({ kind: 'basic', username: 'ann' });
    expect(three!.stripQuery).toContain('key');
    expect(three!.anonymous).toBe(true);
    expect(policy.warnings).toEqual([]);
  });

  test('a secret written into the file is an error that says how, and is never repeated', async () => {
    for (const entry of [
      'openai: sk-PLANTED',
      'openai: { value: sk-PLANTED }',
      'openai: { source: sk-PLANTED }',
      'openai: { source: { token: sk-PLANTED } }',
      'openai: { source: { file: sk-PLANTED } }',
      'openai: { companions: { Authorization: sk-PLANTED } }',
      'openai: { inject: { header: sk-PLANTED } }',
      'mine: { hosts: [a.example], inject: { header: x }, value: sk-PLANTED }',
      'mine: { hosts: [sk-PLANTED/x], inject: sk-PLANTED }',
      'mine: { hosts: [a.example], inject: { query: "sk PLANTED" }, paths: [sk-PLANTED] }',
      'openai: [sk-PLANTED]',
      'openai: "sk-PLANTED',
    ]) {
      const errors = await errorsOf(`version: 1\nallow: [{preset: openai}]\ncredentials:\n  ${entry}\n`);
      expect(errors.length, entry).toBeGreaterThan(0);
      expect(JSON.stringify(errors)).not.toContain('PLANTED');
    }
    expect(await messages('version: 1\ncredentials: {mine: {value: x}}\n')).toContain('never written into this file');
  });

  test('the environment is an error that explains itself, and with the opt-in a warning', async () => {
    const text = (source: string): string =>
      `version: 1\nallow: [{preset: openai}]\ncredentials: {openai: {source: ${source}}}\n`;
    expect(await messages(text('{env: OPENAI_KEY}'))).toContain('i_accept_environment: true');
    const policy = await policyOf(text('{env: OPENAI_KEY, i_accept_environment: true}'));
    expect(policy.credentials.get('openai')!.source).toEqual({ kind: 'environment', variable: 'OPENAI_KEY' });
    expect(policy.warnings.join()).toContain('OPENAI_KEY');
  });

  test('a preset keeps its hosts and form: they cannot be pointed elsewhere', async () => {
    const text = 'version: 1\ncredentials: {github: {hosts: [evil.example], inject: {bearer: true}}}\n';
    expect(await messages(text)).toContain('give a credential of your own another name');
  });

  test('one that no rule reaches, or only a tunnel, is worth a warning', async () => {
    const unused = await policyOf('version: 1\nallow: [{host: a.example}]\ncredentials: {openai: {}}\n');
    expect(unused.warnings.join()).toContain('credential openai is never used');
    const tunnel = await policyOf(
      'version: 1\nallow: [{host: a.example, tunnel: true}]\ncredentials: {k: {hosts: [a.example], inject: {bearer: true}}}\n',
    );
    expect(tunnel.warnings.join()).toContain('tunnels');
  });
});

describe('settings', () => {
  test('a share of the journal with which one sandbox could hold half of it is warned about', async () => {
    const warningsOf = async (audit: string) =>
      (await policyOf(`version: 1\nallow: [{host: a.example}]\naudit: ${audit}\n`)).warnings;
    expect(await warningsOf('{ sandbox_bytes_per_day: 900000000 }')).toEqual([]);
    expect(await warningsOf('{ sandbox_bytes_per_day: 0, keep_days: 0 }')).toEqual([]);
    for (const audit of ['{ sandbox_bytes_per_day: 1000000000 }', '{ sandbox_bytes_per_day: 0 }', '{ keep_days: 60 }'])
      expect(await warningsOf(audit)).toEqual([expect.stringContaining('more than half of audit.max_bytes')]);
  });

  test('have the documented defaults', async () => {
    const policy = await policyOf('version: 1\nallow: [{host: a.example}]\n');
    expect(policy.protectedBranches.map(({ text }) => text)).toEqual(['main', 'master']);
    expect(policy.protectedPaths.map(({ text }) => text)).toEqual(['.github/workflows/**']);
    expect(policy.gitHosts).toEqual(new Set());
    expect(policy).toMatchObject({
      listen: { proxy: [{ host: '127.0.0.1', port: 8080 }], mtls: [], gateway: [] },
      docker: { socket: '/var/run/docker.sock', registerLabelled: false, network: null },
      allowForcePush: false,
      allowBranchDeletion: false,
      githubHosts: ['github.com'],
      publicFetch: false,
      limits: {
        requestsPerMinute: 6000,
        concurrentRequests: 256,
        connections: 1024,
        headBytes: 65536,
        requestBodyBytes: 0,
        pushBytes: 2 * 1024 ** 3,
        spoolBytes: 8 * 1024 ** 3,
        connectTimeoutMs: 10000,
        headersTimeoutMs: 600000,
        idleTimeoutMs: 600000,
      },
      upstream: { resolve: [], extraRoots: [], proxy: null },
      audit: {
        maxFileBytes: 67108864,
        keepFiles: 20,
        keepMs: 7 * 86_400_000,
        maxBytes: 16 * 1024 ** 3,
        sandboxBytesPerDay: 128 * 1024 ** 2,
      },
      warnings: [],
    });
  });

  test('doors are read in all forms', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{host: a.example}]\nlisten: {proxy: ["127.0.0.1:1", "[::1]:2", "172.30.0.0/24:3", "[fd00::/64]:4"], mtls: 0.0.0.0:8443, gateway: [172.30.0.2, 172.31.0.0/24, "fd00::2"], dashboard: 127.0.0.1:8642}\n',
    );
    expect(policy.listen).toEqual({
      proxy: [
        { host: '127.0.0.1', port: 1 },
        { host: '::1', port: 2 },
        { host: '172.30.0.0/24', port: 3 },
        { host: 'fd00::/64', port: 4 },
      ],
      mtls: [{ host: '0.0.0.0', port: 8443 }],
      gateway: ['172.30.0.2', '172.31.0.0/24', 'fd00::2'],
      dashboard: { host: '127.0.0.1', port: 8642 },
      workers: 1,
    });
    expect(policy.warnings).toEqual([]);
  });

  test.each([
    'listen: {proxy: "172.30.0.0/33:1"}',
    'listen: {proxy: "172.30.0.0/24/24:1"}',
    'listen: {proxy: "[fd00::/129]:1"}',
    'listen: {mtls: "gateway:8443"}',
    'listen: {gateway: "172.30.0.2:80"}',
    'listen: {gateway: eth0}',
    'listen: {dashboard: "0.0.0.0:8642"}',
    'listen: {dashboard: "192.0.2.1:8642"}',
    'listen: {dashboard: "[::]:8642"}',
    'approvals: {answer_within_seconds: 0}',
    'approvals: {held: 0}',
    'github: {effects: {bot: {ask: [everything]}}}',
    'docker: {socket: docker.sock}',
    'docker: {network: "a b"}',
    'docker: {register_labelled: yes please}',
    'docker: {host: tcp}',
  ])('%s is an error', async (line) => {
    await expect(policyOf(`version: 1\nallow: [{host: a.example}]\n${line}\n`)).rejects.toThrow();
  });

  test('Docker has a socket, a network and labels that may register', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{host: a.example}]\ndocker: {socket: /run/view.sock, register_labelled: true, network: boxes}\n',
    );
    expect(policy.docker).toEqual({ socket: '/run/view.sock', registerLabelled: true, network: 'boxes' });
  });

  test('upstream addresses are read in all forms, the most exact pattern first', async () => {
    const policy = await policyOf(`version: 1
allow: [{ host: a.example }]
upstream:
  resolve:
    "*.example.com": 10.0.0.1
    "*.b.example.com": "[fd00::1]:8443"
    api.example.com: "127.0.0.1:9443"
    v6.example: "fd00::2"
  proxy: http://proxy.example:3128
`);
    expect(policy.upstream.resolve.map((entry) => [entry.host.text, entry.address, entry.port])).toEqual([
      ['api.example.com', '127.0.0.1', 9443],
      ['v6.example', 'fd00::2', null],
      ['*.b.example.com', 'fd00::1', 8443],
      ['*.example.com', '10.0.0.1', null],
    ]);
    expect(policy.upstream.proxy).toMatchObject({ host: 'proxy.example', port: 3128 });
  });

  test('extra roots must be certificates, relative to the file', async () => {
    const text = (ca: string): string => `version: 1\nupstream: {ca: ${ca}}\n`;
    const machine = pretendMachine({
      files: {
        '/etc/sallyport/key.pem': '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n',
        '/etc/sallyport/bad.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
        '/etc/sallyport/text.pem': 'hello',
      },
    });
    const errors = await errorsOf(text('[key.pem, bad.pem, text.pem, none.pem]'), machine);
    expect(errors.map((error) => [error.column, error.path])).toEqual([
      [17, 'upstream.ca[0]'],
      [26, 'upstream.ca[1]'],
      [35, 'upstream.ca[2]'],
      [45, 'upstream.ca[3]'],
    ]);
    expect(errors.map((error) => error.message).join('\n')).toMatch(
      /private key[\s\S]*cannot be read[\s\S]*no PEM[\s\S]*\/etc\/sallyport\/none\.pem/,
    );
  });

  test('a GitHub Enterprise host joins github.com, and must be allowed to be of use', async () => {
    const policy = await policyOf('version: 1\nallow: [{host: a.example}]\ngithub: {hosts: [GHE.example.com]}\n');
    expect(policy.githubHosts).toEqual(['github.com', 'ghe.example.com']);
    expect(policy.warnings.join()).toContain('ghe.example.com');
  });
});

describe('git', () => {
  test('hosts that serve git are marked by name, beside those of the presets, and must be allowed to be of use', async () => {
    const policy = await policyOf(`version: 1
allow: [{ preset: gitlab }, { host: git.example.com }]
git: { hosts: [Git.Example.com, other.example.com], public_fetch: true }
`);
    expect(policy.gitHosts).toEqual(new Set(['gitlab.com', 'git.example.com', 'other.example.com']));
    expect(policy.publicFetch).toBe(true);
    expect(policy.githubHosts).toEqual(['github.com']);
    expect(policy.warnings).toEqual(['git.hosts names other.example.com, but no entry of `allow` covers it']);
  });

  test('limits of pushes are what the document says', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{host: a.example}]\nlimits: {push_bytes: 1024, spool_bytes: 4096}\n',
    );
    expect(policy.limits).toMatchObject({ pushBytes: 1024, spoolBytes: 4096 });
  });

  test('what is protected is written as people write it, and held against names in lower case', async () => {
    const policy = await policyOf(`version: 1
allow: [{ host: a.example }]
policy:
  protected_branches: [refs/heads/Main, "release/*", "Hot/**"]
  protected_paths: [/.GitHub/workflows/**, CODEOWNERS]
  allow_force_push: true
  allow_branch_deletion: true
`);
    const { protectedBranches, protectedPaths } = policy;
    expect(protectedBranches.map(({ text }) => text)).toEqual(['main', 'release/*', 'hot/**']);
    expect(protectedPaths.map(({ text }) => text)).toEqual(['.github/workflows/**', 'codeowners']);
    expect(protectedBranches.map((one) => one.covers('release/1'))).toEqual([false, true, false]);
    expect(protectedPaths[0]!.covers('.github/workflows/deep/ci.yml')).toBe(true);
    expect(protectedPaths[0]!.reaches('.github/')).toBe(true);
    expect([policy.allowForcePush, policy.allowBranchDeletion]).toEqual([true, true]);
  });

  test('nothing need be protected', async () => {
    const text = 'version: 1\nallow: [{host: a.example}]\npolicy: {protected_branches: [], protected_paths: []}\n';
    expect(await policyOf(text)).toMatchObject({ protectedBranches: [], protectedPaths: [] });
  });
});

test('the description names what is allowed and what is missing', async () => {
  const policy = await policyOf(
    'version: 1\nallow: [{preset: anthropic}, {preset: github}, {host: t.example, tunnel: true}]\n',
  );
  expect(describePolicy(policy, (name) => name === 'anthropic')).toEqual([
    'policy: sallyport.yaml',
    'allowed: 11 hosts, 1 of them as tunnels, presets anthropic, github',
    'credential anthropic: set, from memory',
    'credential github: not set (run `sallyport secret set github`); requests go without it',
  ]);
});
