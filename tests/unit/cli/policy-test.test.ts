import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runWith } from './command-line.ts';

const example = fileURLToPath(new URL('../../../config/policy-tests.example.yaml', import.meta.url));

const policy = `version: 1
allow:
  - preset: github
  - host: api.example.com
    methods: [GET]
  - host: pinned.example.com
    tunnel: true
  - host: asked.example.com
    ask: true
  - host: never.example.com
  - {host: postable.example.com, methods: [POST]}
  - {host: gitea.example.com, methods: [GET], ask: true}
  - {host: gitea.example.com, methods: [POST]}
git: {hosts: [postable.example.com, gitea.example.com]}
github: {effects: {bot: {ask: [merge, approve]}}}
policy: {blocked_api_patterns: {}}
`;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-cases-'));
  writeFileSync(join(directory, 'sallyport.yaml'), policy);
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs these cases, written as YAML, against the policy above. */
async function runCases(text: string, ...flags: string[]) {
  writeFileSync(join(directory, 'cases.yaml'), text);
  return runWith(['policy', 'test', 'cases.yaml', ...flags], { cwd: directory });
}

interface CaseData {
  name: string;
  passed: boolean;
  outcome: string;
  rule: string;
  reason: string;
  hint: string;
  differences: string[];
}

async function verdictsOf(cases: string): Promise<CaseData[]> {
  const { out } = await runCases(`sandbox: {repos: [acme/widgets]}\ncases:\n${cases}`, '--json');
  return (JSON.parse(out) as { files: { cases: CaseData[] }[] }).files[0]!.cases;
}

describe('sallyport policy test', () => {
  test('the example that ships passes as a whole', async () => {
    const { code, out } = await runWith(['policy', 'test', example]);
    expect(out).not.toContain('FAIL');
    expect(out).toMatch(/17 cases: 17 passed, 0 failed/);
    expect(code).toBe(0);
  });

  test('a case that is not met fails with what the policy says instead, its rule and its place, exit 1', async () => {
    const { code, out } = await runCases(`cases:
  - {name: reads, request: GET https://api.example.com/, expect: allowed, rule: "allow[1]"}
  - {name: hopeful, request: POST https://api.example.com/, expect: allowed}
  - {name: other code, request: POST https://api.example.com/, expect: refused, code: domain.not-allowed}
  - {name: other rule, request: GET https://api.example.com/, expect: allowed, rule: "allow[2]"}
  - {name: keyless, request: GET https://api.github.com/meta, expect: allowed, credential: github}
`);
    expect(code).toBe(1);
    expect(out).toMatch(/ok {4}reads/);
    expect(out).toMatch(
      /FAIL {2}hopeful\n +expected allowed, but it is refused\n +refused: method.not-allowed, by allow\[1\]/,
    );
    expect(out).toContain('cases.yaml:3');
    expect(out).toContain('expected the code domain.not-allowed, but it is method.not-allowed');
    expect(out).toContain('expected the rule allow[2], but it is allow[1]');
    expect(out).toContain('expected the credential github, but it goes with no credential');
    expect(out).toContain('5 cases: 1 passed, 4 failed.');
  });

  test('entries that no case touches are named', async () => {
    const { out } = await runCases(`cases:
  - {name: one, request: GET https://api.example.com/, expect: allowed}
  - {name: refused there too, request: DELETE https://api.github.com/repos/o/r, expect: refused}
  - {name: undecrypted, request: GET https://pinned.example.com/, expect: allowed}
`);
    expect(out).toContain('no case touches allow[3] (asked.example.com, line 8)');
    expect(out).toContain('no case touches allow[4] (never.example.com, line 10)');
    expect(out).not.toMatch(/touches allow\[[012]\]/);
  });

  test('what asks a person is told from what passes, by host and by what a body would do', async () => {
    const verdicts = await verdictsOf(`
  - {name: host, request: GET https://asked.example.com/x, expect: ask, rule: "allow[3]"}
  - {name: merge, request: PUT https://api.github.com/repos/acme/widgets/pulls/1/merge, expect: ask, rule: github.effects.bot.ask}
  - name: approve
    request: {method: POST, url: https://api.github.com/repos/acme/widgets/pulls/1/reviews, json: {event: APPROVE}}
    expect: ask
  - name: comment
    request: {method: POST, url: https://api.github.com/repos/acme/widgets/pulls/1/reviews, json: {event: COMMENT}}
    expect: allowed
`);
    expect(verdicts.map(({ name, differences }) => [name, differences])).toEqual([
      ['host', []],
      ['merge', []],
      ['approve', []],
      ['comment', []],
    ]);
  });

  test('what only GitHub knows is undecided, and never taken for allowed', async () => {
    const verdicts = await verdictsOf(`
  - {name: number, request: GET https://api.github.com/repositories/17, expect: allowed}
  - name: a branch that is moved to a commit
    request:
      method: PATCH
      url: https://api.github.com/repos/acme/widgets/git/refs/heads/sandbox/x
      json: {sha: "1111111111111111111111111111111111111111"}
    expect: allowed
  - name: a node
    request:
      method: POST
      url: https://api.github.com/graphql
      json: {query: 'mutation { closeIssue(input: {issueId: "I_1"}) { clientMutationId } }'}
    expect: allowed
`);
    for (const { outcome, passed, reason } of verdicts) expect([outcome, passed], reason).toEqual(['undecided', false]);
    expect(verdicts[0]!.reason).toContain('which only GitHub knows');
  });

  test('what the body of a push or of LFS decides is undecided, and the words do not send anybody to GitHub', async () => {
    const verdicts = await verdictsOf(`
  - name: push
    request:
      method: POST
      url: https://github.com/acme/widgets.git/git-receive-pack
      headers: {content-type: application/x-git-receive-pack-request}
      body: garbage
    expect: allowed
  - {name: upload, request: POST https://github.com/acme/widgets.git/info/lfs/objects/batch, expect: allowed}
  - {name: lock, request: POST https://github.com/acme/widgets.git/info/lfs/locks, expect: allowed}
  - {name: unlock, request: POST https://github.com/acme/widgets.git/info/lfs/locks/1/unlock, expect: allowed}
  - {name: verify, request: POST https://github.com/acme/widgets.git/info/lfs/locks/verify, expect: allowed}
`);
    for (const { name, outcome, passed, reason, rule } of verdicts) {
      expect([outcome, passed], name).toEqual(['undecided', false]);
      expect(`${reason} ${rule}`, name).not.toContain('GitHub');
    }
    expect(verdicts[0]).toMatchObject({
      rule: 'built-in: a push is judged by its body',
      hint: 'Write it as `push:`, leave it out of the cases, or write `expect: undecided`.',
    });
    const url = 'https://github.com/acme/widgets.git/info/lfs/objects/batch';
    const upload = (branch: string) =>
      `{method: POST, url: "${url}", json: {operation: upload, ref: {name: refs/heads/${branch}}, objects: [{oid: ${'a'.repeat(64)}, size: 1}]}}`;
    const others = await verdictsOf(`
  - {name: an upload, request: ${upload('sandbox/x')}, expect: allowed}
  - {name: an upload to main, request: ${upload('main')}, expect: refused, code: lfs.not-allowed}
  - {name: of another, request: POST https://github.com/acme/other.git/git-receive-pack, expect: refused, code: repo.not-allowed}
  - {name: the refs, request: "GET https://github.com/acme/widgets.git/info/refs?service=git-receive-pack", expect: allowed}
  - {name: a fetch, request: POST https://github.com/acme/widgets.git/git-upload-pack, expect: allowed}
`);
    expect(others.filter(({ passed }) => !passed)).toEqual([]);
  });

  test('a push is judged by its ref, and by the history and the paths that the case says it has', async () => {
    const push = (name: string, keys: string, rest: string) =>
      `  - {name: ${name}, push: {repo: acme/widgets, ${keys}}, ${rest}}\n`;
    const verdicts = await verdictsOf(
      push('own', 'branch: sandbox/x', 'expect: allowed') +
        push('own paths', 'branch: sandbox/x, paths: [README.md]', 'expect: allowed') +
        push('main', 'branch: main', 'expect: refused, code: push.protected-branch') +
        push('force', 'branch: sandbox/x, force: true', 'expect: refused, code: push.force') +
        push('tag', 'tag: v1', 'expect: refused, code: push.branch-not-allowed') +
        push('moved tag', 'tag: v1, force: true', 'expect: refused, code: push.tag-moved') +
        push(
          'workflow',
          'branch: sandbox/x, paths: [.GITHUB/workflows/a]',
          'expect: refused, code: push.protected-path',
        ) +
        '  - {name: other repository, push: {repo: acme/other, branch: sandbox/x}, expect: refused, code: repo.not-allowed}\n' +
        '  - {name: other host, push: {repo: acme/widgets, branch: sandbox/x, host: git.example}, expect: refused, code: domain.not-allowed}\n',
    );
    expect(verdicts.filter(({ passed }) => !passed)).toEqual([]);
    expect(verdicts[0]!.reason).toBe('allowed; its history and the files it changes are judged when it comes');
  });

  test('a push that git could not begin is refused there, and one whose beginning waits for a person waits', async () => {
    const push = (name: string, host: string, rest: string) =>
      `  - {name: ${name}, push: {repo: acme/widgets, branch: sandbox/x, host: ${host}.example.com}, ${rest}}\n`;
    const cases =
      push('no refs', 'postable', 'expect: refused, code: method.not-allowed, rule: "allow[5]"') +
      push('asked', 'gitea', 'expect: ask, rule: "allow[6]"');
    const verdicts = await verdictsOf(cases);
    expect(verdicts.filter(({ passed }) => !passed)).toEqual([]);
    const { out } = await runCases(`sandbox: {repos: [acme/widgets]}\ncases:\n${cases}`);
    expect(out).toContain('no case touches allow[4]');
    expect(out).not.toMatch(/touches allow\[[567]\]/);
  });

  test('every error of a file is told at once with line and column, nothing is run, exit 2', async () => {
    const { code, out, err } = await runCases(`sandbox: {repos: [nonsense], credentials: [gitlab]}
cases:
  - {name: a, request: api.example.com, expect: allowed}
  - {name: b, request: GET https://a.example/, expect: maybe}
  - {name: c, expect: allowed}
  - {name: d, request: GET https://a.example/, push: {repo: a/b, branch: c}, expect: allowed}
  - {name: e, request: GET https://a.example/, expect: refused, code: domain.not-alowed}
  - {name: f, request: GET https://a.example/, expect: allowed, code: domain.not-allowed}
  - {name: g, push: {repo: a/b}, expect: allowed}
  - {name: h, request: {method: GET, url: https://a.example/, body: x, json: {}}, expect: allowed}
  - {name: i, request: GET https://a.example/, expcet: allowed}
`);
    expect(code).toBe(2);
    expect(err).toContain('no case was run');
    const lines = out.trim().split('\n');
    expect(lines.map((line) => Number(/^cases\.yaml:(\d+):\d+: /.exec(line)?.[1]))).toEqual([
      1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11,
    ]);
    expect(out).toContain('did you mean `domain.not-allowed`?');
    expect(out).toContain('did you mean `expect`?');
  });

  test('a case with two errors shows both, and one that says too much is told so', async () => {
    const { out } = await runCases(`cases:
  - {name: a, request: FOO, expect: maybe}
  - {name: b, request: GET https://a.example/, push: {repo: a/b, branch: c}, expect: refused}
  - {name: c, request: GET https://a.example/, expect: refused, code: toString}
`);
    expect(out).toContain('cases.yaml:2:24: cases[0].request: ');
    expect(out).toContain('cases.yaml:2:37: cases[0].expect: ');
    expect(out).toContain('`request` or `push`, not both');
    expect(out).toContain('cases[2].code: there is no such code');
  });

  test('an unknown credential, a missing file and a bad policy are errors, not failures', async () => {
    const unknown = await runCases(
      'sandbox: {credentials: [githup]}\ncases:\n  - {name: a, request: GET https://a.example/, expect: refused}\n',
    );
    expect(unknown.code).toBe(2);
    expect(unknown.out).toContain(
      'cases.yaml:1:25: sandbox.credentials[0]: the policy has no such credential: did you mean `github`?',
    );
    expect((await runWith(['policy', 'test', 'none.yaml'], { cwd: directory })).code).toBe(2);
    writeFileSync(join(directory, 'bad.yaml'), 'version: 2\n');
    const bad = await runCases(
      'policy: bad.yaml\ncases:\n  - {name: a, request: GET https://a.example/, expect: refused}\n',
    );
    expect([bad.code, bad.out]).toEqual([2, expect.stringContaining('bad.yaml:1:10: version: write `version: 1`')]);
  });

  test('hostile names in a file reach the terminal as text', async () => {
    const { out } = await runCases('cases:\n  - {name: "\\e[2Jx", request: GET https://a.example/, expect: refused}\n');
    expect(out).toContain('\\x1b[2Jx');
    expect(out).not.toContain('\u001b[2J');
  });
});
