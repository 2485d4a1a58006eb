// A GitHub on loopback, over TLS, under its real names or as an Enterprise host: it wants the real token, knows two
// repositories of which the sandbox has one, and remembers every request, so that a test can see what got through.
import { Kind, parse } from 'graphql';
import { answerGraphql } from './fake-github-graphql.ts';
import { answerAnybody, answerRest, type RestReply } from './fake-github-rest.ts';
import { FakeGithubState } from './fake-github-state.ts';
import { startFakeUpstream } from './fake-upstream.ts';
import type { TestCa } from './test-ca.ts';

export interface SeenGithubRequest {
  readonly method: string;
  readonly host: string;
  readonly url: string;
  readonly body: string;
  /** The operation of a GraphQL document, e.g. `mutation PullRequestClose`; null for REST. */
  readonly operation: string | null;
  /** Whether it came with the token; null: with none at all. */
  readonly login: boolean | null;
}

export interface FakeGithub {
  /** For `upstream.resolve`. */
  readonly address: string;
  readonly state: FakeGithubState;
  /** By path: where a GET is sent instead. */
  readonly redirects: Map<string, string>;
  /** What came on behalf of a client: the gateway's own questions are left out. */
  readonly seen: readonly SeenGithubRequest[];
  /** What of it would have changed something. */
  readonly writes: readonly SeenGithubRequest[];
  forget(): void;
  close(): Promise<void>;
}

/** Where logs and artifacts are kept: not GitHub, and no place for its token. */
export const logsHost = 'logs.example.net';

/** `tokens`: by the name of the host. */
export async function startFakeGithub(ca: TestCa, tokens: Readonly<Record<string, string>>): Promise<FakeGithub> {
  const state = new FakeGithubState();
  const redirects = new Map<string, string>();
  let seen: SeenGithubRequest[] = [];
  const upstream = await startFakeUpstream(ca, [...Object.keys(tokens), logsHost], (request, response, body) => {
    const host = String(request.headers[':authority'] ?? request.headers.host).replace(/:\d+$/, '');
    const { authorization } = request.headers;
    const login = authorization === undefined ? null : isLogin(authorization, tokens[host]);
    const isEnterprise = !host.endsWith('github.com');
    const url = new URL(request.url, `https://${host}`);
    const isGraphql = request.method === 'POST' && url.pathname === (isEnterprise ? '/api/graphql' : '/graphql');
    const operation = isGraphql ? operationOf(body.toString()) : null;
    const noted = { method: request.method, host, url: request.url, body: body.toString(), operation, login };
    // Which repository a node is in, the gateway asks for itself.
    if (operation !== 'query Sallyport') seen.push(noted);
    const reply = ({ status, headers = {}, body: content }: RestReply): void => {
      const isText = typeof content === 'string';
      const type = isText ? 'text/plain' : 'application/json; charset=utf-8';
      response.writeHead(status, { 'content-type': type, ...headers });
      response.end(isText ? content : content === undefined ? '' : JSON.stringify(content));
    };
    const prefix = isEnterprise ? '/api/v3' : '';
    const path = url.pathname.slice(prefix.length) || '/';
    const elsewhere = redirects.get(path);
    if (host === logsHost) {
      reply({ status: 200, body: 'all widgets were built\n' });
    } else if (login === true && elsewhere !== undefined) {
      reply({ status: 302, headers: { location: elsewhere } });
    } else if (login === null && request.method === 'GET') {
      reply(answerAnybody(path));
    } else if (login !== true) {
      reply({ status: 401, body: { message: 'Bad credentials' } });
    } else if (isGraphql) {
      const site = isEnterprise ? host : 'github.com';
      void answerGraphql(state, site, body).then((answer) => reply({ status: 200, body: answer }));
    } else {
      const { method } = request;
      const accept = request.headers.accept ?? '';
      const origin = `https://${host}${prefix}`;
      reply(answerRest(state, { method, path, query: url.searchParams, accept, body: body.toString(), origin }));
    }
  });
  return {
    address: upstream.address,
    state,
    redirects,
    get seen() {
      return seen;
    },
    get writes() {
      return seen.filter(({ method, operation }) => operation?.startsWith('mutation') ?? method !== 'GET');
    },
    forget: () => {
      seen = [];
    },
    close: upstream.close,
  };
}

/** GitHub takes a token as a bearer, and as the password of a basic login. */
function isLogin(authorization: string, token: string | undefined): boolean {
  if (token === undefined) return false;
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return authorization === `Bearer ${token}` || authorization === `Basic ${basic}`;
}

function operationOf(body: string): string {
  const { query } = JSON.parse(body) as { query: string };
  for (const definition of parse(query).definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    return `${definition.operation} ${definition.name?.value ?? ''}`.trim();
  }
  throw new Error('the document has no operation');
}
