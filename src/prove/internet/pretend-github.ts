// GitHub of a pretend internet: two private repositories, REST, GraphQL and git. It wants the real token and then allows
// everything, as GitHub does for a token with all rights: what must not happen is the door's to stop.
import { createPretendGit, type PretendGit } from './pretend-git.ts';
import { type PretendHost, reply } from './pretend-world.ts';

export interface PretendRepository {
  /** `owner/name` */
  readonly name: string;
  readonly number: number;
  readonly branches: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

export interface PretendGithub {
  readonly hosts: ReadonlyMap<string, PretendHost>;
  readonly git: PretendGit;
}

/** The id of pull request 1 of a repository, in the form GitHub gives out: MessagePack of `[0, repository, item]`. */
export function pullNodeId(repository: Pick<PretendRepository, 'number'>): string {
  const bytes = Buffer.alloc(12, 0);
  bytes.set([0x93, 0, 0xce]);
  bytes.writeUInt32BE(repository.number, 3);
  bytes[7] = 0xce;
  bytes.writeUInt32BE(1, 8);
  return `PR_${bytes.toString('base64url')}`;
}

/** `folder`: where the repositories are made. */
export async function startPretendGithub(
  folder: string,
  token: string,
  repositories: readonly PretendRepository[],
): Promise<PretendGithub> {
  const git = createPretendGit(folder);
  for (const { name, branches } of repositories) await git.create(name, branches);
  const logins = new Set([`Bearer ${token}`, `token ${token}`, `Basic ${basic(`x-access-token:${token}`)}`]);
  const isLogin = (authorization: string | undefined): boolean =>
    authorization !== undefined && logins.has(authorization);
  const api: PretendHost = {
    serve(request, response) {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const [path = ''] = request.url.split('?');
        let answer: Reply;
        if (!isLogin(request.headers.authorization)) answer = { status: 401, body: { message: 'Bad credentials' } };
        else if (path === '/graphql') answer = answerGraphql(repositories, Buffer.concat(chunks).toString());
        else answer = answerRest(repositories, request.method, path);
        reply(response, answer.status, answer.body);
      });
    },
  };
  const site: PretendHost = {
    serve(request, response) {
      if (isLogin(request.headers.authorization)) git.serve(request, response);
      else reply(response, 401, 'who are you?\n', { 'www-authenticate': 'Basic realm="GitHub"' });
    },
  };
  const hosts = new Map([
    ['github.com', site],
    ['api.github.com', api],
    ['uploads.github.com', api],
  ]);
  return { hosts, git };
}

function basic(login: string): string {
  return Buffer.from(login).toString('base64');
}

function answerRest(repositories: readonly PretendRepository[], method: string, path: string): Reply {
  if (path === '/user') return { status: 200, body: { login: 'the-agent', id: 7 } };
  if (method === 'DELETE') return { status: 204 };
  if (method !== 'GET') return { status: 201, body: { id: 1 } };
  const found = repositories.find(
    ({ name, number }) => isBelow(path, `/repos/${name}`) || isBelow(path, `/repositories/${number}`),
  );
  if (found === undefined) return { status: 404, body: { message: 'Not Found' } };
  const whole = { id: found.number, full_name: found.name, private: true, default_branch: 'main' };
  if (!/\/pulls\/\d+$/.test(path)) return { status: 200, body: whole };
  const repo = { full_name: found.name };
  return { status: 200, body: { number: 1, head: { ref: 'sandbox/work', repo }, base: { ref: 'main', repo } } };
}

function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** Knows pull request 1 of each repository; whatever else is asked gets an answer without content. */
function answerGraphql(repositories: readonly PretendRepository[], body: string): Reply {
  const { variables } = JSON.parse(body) as { variables?: { ids?: string[] } };
  const nodes = (variables?.ids ?? []).map((id) => {
    const home = repositories.find((repository) => pullNodeId(repository) === id);
    if (home === undefined) return null;
    const place = { nameWithOwner: home.name, databaseId: home.number };
    const branches = { headRefName: 'sandbox/work', baseRefName: 'main', headRepository: place };
    return { __typename: 'PullRequest', id, home: place, ...branches };
  });
  return { status: 200, body: { data: { nodes, repository: { name: 'pretend' } } } };
}
