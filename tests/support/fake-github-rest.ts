// The REST side of the fake GitHub: what gh and `gh api` ask for, from the state. Like the GraphQL side it allows all that
// a token with all rights could do, so that a call which slips past the door leaves a mark.
import { type FakeGithubState, type FakeItem, type FakeRepository, nodeId, tip, when } from './fake-github-state.ts';

export interface RestReply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** A string goes out as text. */
  readonly body?: unknown;
}

export interface RestCall {
  readonly method: string;
  /** Without the prefix of an Enterprise host. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly body: string;
  /** `https://api.github.com` or `https://HOST/api/v3`. */
  readonly origin: string;
}

/** What anybody may see, who shows no token. */
export function answerAnybody(path: string): RestReply {
  if (path === '/' || path.startsWith('/users/')) return { status: 200, body: { login: 'acme', type: 'Organization' } };
  if (path.startsWith('/search/')) return { status: 200, body: { total_count: 0, items: [] } };
  return { status: 401, body: { message: 'Requires authentication' } };
}

const notFound: RestReply = { status: 404, body: { message: 'Not Found' } };
const user = { login: 'the-agent', id: 7, node_id: 'U_kgDOAAAABw', type: 'User' };

export function answerRest(state: FakeGithubState, call: RestCall): RestReply {
  const { method, path } = call;
  if (path === '/user') return { status: 200, body: user, headers: { 'x-oauth-scopes': 'repo, read:org, gist' } };
  if (path === '/') return { status: 200, body: {}, headers: { 'x-oauth-scopes': 'repo, read:org, gist' } };
  const [, family, first = '', second = '', ...rest] = path.split('/');
  if (family === 'repositories') {
    const found = state.repositories.find(({ number }) => String(number) === first);
    return found === undefined ? notFound : inRepository(found, [second, ...rest].filter(Boolean).join('/'), call);
  }
  const found = family === 'repos' ? state.find(first, second) : undefined;
  if (found !== undefined) return inRepository(found, rest.join('/'), call);
  return method === 'GET' ? notFound : { status: 201, body: { message: 'done', html_url: call.origin } };
}

function inRepository(repository: FakeRepository, path: string, call: RestCall): RestReply {
  if (call.method !== 'GET') return write(repository, path, call);
  if (path === '') return { status: 200, body: showRepository(repository, call) };
  if (path === 'issues') return listIssues(repository, call);
  const [list = '', which = '', part = '', ...more] = path.split('/');
  const key = [list, /^\d+$/.test(which) ? '*' : which, part, ...more].filter(Boolean).join('/');
  const item = repository.items.find(({ number }) => String(number) === which);
  const [run] = repository.runs;
  switch (key) {
    case 'readme':
      return { status: 200, body: { name: 'README.md', encoding: 'base64', content: readme(repository) } };
    case 'pulls/*':
      if (item === undefined) return notFound;
      return /diff/.test(call.accept) ? { status: 200, body: diff } : { status: 200, body: showItem(item) };
    case 'issues/*':
      return item === undefined ? notFound : { status: 200, body: showItem(item) };
    case 'actions/runs':
      return listOf('workflow_runs', run === undefined ? [] : [showRun(repository, run, call)]);
    case 'actions/workflows':
      return listOf('workflows', [workflow]);
    case 'releases/latest':
    case 'releases/tags/v1.0.0': {
      const [release] = repository.releases;
      return release === undefined ? notFound : { status: 200, body: showRelease(repository, release, call) };
    }
    case 'branches/main':
      return { status: 200, body: { name: 'main', commit: { sha: tip } } };
    default:
      return inActions(repository, path, call);
  }
}

function inActions(repository: FakeRepository, path: string, call: RestCall): RestReply {
  const [run] = repository.runs;
  if (run === undefined) return notFound;
  switch (path) {
    case `actions/runs/${run.number}`:
      return { status: 200, body: showRun(repository, run, call) };
    case 'actions/workflows/31':
    case 'actions/workflows/ci.yml':
      return { status: 200, body: workflow };
    case `actions/runs/${run.number}/jobs`:
      return listOf('jobs', [job]);
    case `actions/runs/${run.number}/artifacts`:
      return listOf('artifacts', []);
    case 'check-runs/701/annotations':
      return { status: 200, body: [] };
    default:
      return notFound;
  }
}

/** Every write is taken: that it came at all is what a test looks for. */
function write(repository: FakeRepository, path: string, { method, body, origin }: RestCall): RestReply {
  const comment = /^issues\/(\d+)\/comments$/.exec(path);
  if (method === 'POST' && comment !== null) {
    return { status: 201, body: { id: 1, body: (JSON.parse(body) as { body: string }).body } };
  }
  if (method === 'DELETE') return { status: 204 };
  return { status: 201, body: { id: 1, html_url: `${origin}/${repository.owner}/${repository.name}` } };
}

/** One on a page; the link to the next names the repository by its number, as GitHub's do. */
function listIssues(repository: FakeRepository, { query, origin }: RestCall): RestReply {
  const page = Number(query.get('page') ?? '1');
  const item = repository.items[page - 1];
  const next = `<${origin}/repositories/${repository.number}/issues?per_page=1&page=${page + 1}>; rel="next"`;
  const headers: Record<string, string> = page < repository.items.length ? { link: next } : {};
  return { status: 200, headers, body: item === undefined ? [] : [showItem(item)] };
}

function showRepository({ number, id, owner, name }: FakeRepository, { origin }: RestCall): object {
  return {
    id: number,
    node_id: id,
    name,
    full_name: `${owner}/${name}`,
    private: true,
    owner: { login: owner },
    default_branch: 'main',
    url: `${origin}/repos/${owner}/${name}`,
    permissions: { admin: true, push: true, pull: true },
  };
}

function showItem({ id, number, title, body, state, kind, head, base, repository }: FakeItem): object {
  const shared = { node_id: id, number, title, body, state: state === 'OPEN' ? 'open' : 'closed', user };
  if (kind === 'Issue') return shared;
  const repo = { full_name: `${repository.owner}/${repository.name}` };
  return { ...shared, head: { ref: head, sha: tip, repo }, base: { ref: base, repo } };
}

function showRelease(
  { number, owner, name }: FakeRepository,
  { number: id, tag, title }: FakeRepository['releases'][number],
  { origin }: RestCall,
): object {
  const url = `${origin}/repos/${owner}/${name}/releases/${id}`;
  const uploads = origin.replace('api.github.com', 'uploads.github.com').replace('/api/v3', '/api/uploads');
  return {
    id,
    node_id: nodeId('RE', number, id),
    tag_name: tag,
    name: title,
    body: 'Turns to the left.',
    draft: false,
    prerelease: false,
    created_at: when,
    published_at: when,
    url,
    upload_url: `${uploads}/repos/${owner}/${name}/releases/${id}/assets{?name,label}`,
    html_url: url,
    author: user,
    assets: [],
  };
}

function showRun({ owner, name }: FakeRepository, run: FakeRepository['runs'][number], { origin }: RestCall): object {
  const base = `${origin}/repos/${owner}/${name}/actions/runs/${run.number}`;
  return {
    id: run.number,
    name: 'CI',
    display_title: run.title,
    head_branch: run.branch,
    head_sha: tip,
    head_commit: { id: tip, message: run.title },
    head_repository: { owner: { login: owner }, name },
    event: 'push',
    status: 'completed',
    conclusion: 'success',
    workflow_id: 31,
    run_attempt: 1,
    created_at: when,
    updated_at: when,
    run_started_at: when,
    url: base,
    html_url: base,
    jobs_url: `${base}/jobs`,
  };
}

const workflow = { id: 31, name: 'CI', path: '.github/workflows/ci.yml', state: 'active' };
const job = {
  id: 701,
  name: 'build',
  status: 'completed',
  conclusion: 'success',
  started_at: when,
  completed_at: when,
  steps: [],
  html_url: '',
};
const diff = 'diff --git a/widget b/widget\n--- a/widget\n+++ b/widget\n@@ -1 +1 @@\n-dry\n+greased\n';

function readme({ name }: FakeRepository): string {
  return Buffer.from(`# ${name}\n\nRead me first.\n`).toString('base64');
}

function listOf(name: string, entries: readonly object[]): RestReply {
  return { status: 200, body: { total_count: entries.length, [name]: entries } };
}
