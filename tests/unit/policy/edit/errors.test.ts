import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../../../support/cpu-time.ts';
import { errorsOf } from '../pretend-machine.ts';

const places = async (text: string): Promise<string[]> =>
  (await errorsOf(text)).map((error) => `${error.line}:${error.column} ${error.path}`);

const messages = async (text: string): Promise<string> =>
  (await errorsOf(text)).map((error) => error.message).join('\n');

describe('every error of a document is reported at once, with its place', () => {
  test('errors of all sections come together, in the order of the file', async () => {
    const text = `version: 1
lisen: {}
listen:
  proxy: nowhere
allow:
  - preset: anthropc
  - host: https://x.example/
    methods: [get, GET, CONNECT]
    paths: [v1, "/a?b"]
    ports: [0, x]
  - hots: a.example
credentials:
  mine: { hosts: [a.example], inject: { header: x, bearer: true }, source: { command: "pass show" } }
policy:
  blocked_api_patterns:
    DELETE: ["(a", "^/fine$"]
    delete: ["x"]
limits:
  connections: -1
  requests_per_minut: 5
upstream:
  resolve: { a.example: "foo" }
  ca: [missing.pem]
  proxy: http://u:p@proxy.example:3128
github: { hosts: ["*.x.example"] }
audit: { keep_files: many }
`;
    expect(await places(text)).toEqual([
      '2:1 lisen',
      '4:10 listen.proxy',
      '6:13 allow[0].preset',
      '7:11 allow[1].host',
      '8:15 allow[1].methods[0]',
      '8:25 allow[1].methods[2]',
      '9:13 allow[1].paths[0]',
      '9:17 allow[1].paths[1]',
      '10:13 allow[1].ports[0]',
      '10:16 allow[1].ports[1]',
      '11:5 allow[2].host',
      '11:5 allow[2].hots',
      '13:39 credentials.mine.inject',
      '13:87 credentials.mine.source.command',
      '16:14 policy.blocked_api_patterns.DELETE[0]',
      '17:5 policy.blocked_api_patterns.delete',
      '19:16 limits.connections',
      '20:3 limits.requests_per_minut',
      '22:25 upstream.resolve.a.example',
      '23:8 upstream.ca[0]',
      '24:10 upstream.proxy',
      '25:19 github.hosts[0]',
      '26:22 audit.keep_files',
    ]);
  });

  test('an unknown key or preset comes with the one that was probably meant', async () => {
    expect(await messages('version: 1\nalow: []\n')).toContain('did you mean `allow`?');
    expect(await messages('version: 1\nallow: [{preset: githb}]\n')).toContain('did you mean `github`?');
    expect(await messages('version: 1\nallow: [{host: a.example, method: [GET]}]\n')).toContain(
      'did you mean `methods`?',
    );
    expect(await messages('version: 1\nallow: [{preset: zzzzzzzz}]\n')).toContain('known: anthropic, openai');
  });

  test('a preset takes no other keys and is listed once', async () => {
    expect(await messages('version: 1\nallow: [{preset: github, methods: [GET]}]\n')).toContain(
      'a preset brings its own',
    );
    expect(await messages('version: 1\nallow: [{preset: github}, {preset: github}]\n')).toContain('already listed');
  });

  test('a missing version, an empty file and a list instead of a map say what to write', async () => {
    expect(await messages('allow: []\n')).toContain('write `version: 1`');
    expect(await messages('')).toContain('write a map with the keys version, listen, allow');
    expect(await messages('- a\n')).toContain('write a map with the keys');
  });
});

test('errors about git have their place too', async () => {
  const text = `version: 1
git: { hosts: ["*.x.example", "https://y.example"], public_fetch: 1, host: a.example }
limits: { push_bytes: 0, spool_bytes: many }
policy: { protected_branches: main, protected_paths: [55, "a b"], allow_force_push: "no" }
`;
  expect(await places(text)).toEqual([
    '2:16 git.hosts[0]',
    '2:31 git.hosts[1]',
    '2:67 git.public_fetch',
    '2:70 git.host',
    '3:23 limits.push_bytes',
    '3:39 limits.spool_bytes',
    '4:31 policy.protected_branches',
    '4:55 policy.protected_paths[0]',
    '4:59 policy.protected_paths[1]',
    '4:85 policy.allow_force_push',
  ]);
  expect(await messages('version: 1\ngit: {host: [a.example]}\n')).toContain('did you mean `hosts`?');
});

describe('YAML is read strictly', () => {
  test('duplicate keys are an error at the second one', async () => {
    expect(await errorsOf('version: 1\nallow: []\nallow: []\n')).toMatchObject([{ line: 3, column: 1 }]);
  });

  test('two documents, tags, tabs, merge keys and YAML 1.1 are errors', async () => {
    for (const text of [
      'version: 1\n---\nversion: 1\n',
      'version: !!js/function x\n',
      'version: 1\nlisten:\n\tproxy: 127.0.0.1:1\n',
      'version: 1\nlimits: &a {connections: 5}\naudit: {<<: *a}\n',
      '%YAML 1.1\n---\nversion: 1\n',
    ]) {
      expect(await errorsOf(text), text).not.toEqual([]);
    }
  });

  test('aliases cannot blow up and a huge file is not parsed', async () => {
    let bomb = 'version: 1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n';
    for (let i = 1; i < 12; i++)
      bomb += `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]\n`;
    const spentMs = await cpuMsOf(async () => {
      expect(await messages(bomb)).toContain('aliases');
      expect(await messages(`version: 1\n#${'x'.repeat(1024 * 1024)}`)).toContain('larger than');
    });
    expect(spentMs).toBeLessThan(2000);
  });

  test('an error behind an alias points to where the text stands', async () => {
    const text = 'version: 1\nallow:\n  - host: &h "*"\n  - host: *h\n';
    expect(await places(text)).toEqual(['3:14 allow[0].host', '4:11 allow[1].host']);
  });
});
