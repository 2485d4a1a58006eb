// One request to the page's server, from its head to its answer, in a fixed order: is it meant for us, by whom, may it change
// anything, and only then what it wants. Whatever fails is refused; a fault of ours says nothing of its cause.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { readJson } from '../admin/admin-body.ts';
import { AdminError, asAdminError } from '../admin/admin-error.ts';
import { give, giveJson, setStrictFields } from './page-answer.ts';
import { answerApi, type PageApiParts } from './page-api.ts';
import type { PageAsset } from './page-assets.ts';
import { knowsWord, type PageSession, type PageSessions } from './page-sessions.ts';
import type { PageStreams } from './page-streams.ts';
import { isForeign } from './refuse-foreign.ts';
import { cookieField, cookiesNamed, giveNoSession, type VisitDoor } from './visit-door.ts';

export interface PageParts extends PageApiParts {
  /** Every Host by which a person may come. */
  readonly hosts: ReadonlySet<string>;
  readonly cookieName: string;
  readonly assets: ReadonlyMap<string, PageAsset>;
  readonly sessions: PageSessions;
  readonly door: Pick<VisitDoor, 'enter'>;
  readonly streams: Pick<PageStreams, 'add'>;
  readonly onFault: (what: string, error: unknown) => void;
}

const maxBodyBytes = 16 * 1024;

export async function servePage(parts: PageParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  setStrictFields(response);
  try {
    await serve(parts, request, response);
  } catch (error) {
    const known = asAdminError(error);
    if (known === null || known.status >= 500) parts.onFault('the page could not be served', error);
    if (response.headersSent) return void response.destroy();
    const said = known ?? new AdminError(500, 'internal.error', 'the gateway had an internal error; its log says why');
    closeUnlessRead(request, response);
    giveJson(response, said.status, { error: said.message, code: said.code, hint: said.hint });
  }
}

async function serve(parts: PageParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers, socket, method = '' } = request;
  const hostCount = request.rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host').length;
  if (isForeign({ peer: socket.remoteAddress, headers, hostCount }, parts.hosts)) {
    closeUnlessRead(request, response);
    return give(response, 403, 'text/plain; charset=utf-8', '');
  }
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    response.setHeader('allow', 'GET, HEAD, POST');
    throw new AdminError(405, 'admin.method-not-allowed', 'only GET, HEAD and POST are served here');
  }
  const { path, query } = splitTarget(request.url ?? '');
  const session = sessionOf(parts, headers.cookie);
  if (path === '/enter' && method === 'GET') return parts.door.enter(query.get('token'), session, response);
  const isApi = path.startsWith('/api/');
  if (session === null || (isApi && !knowsWord(session, wordOf(path, query, headers)))) {
    closeUnlessRead(request, response);
    if (!isApi) return giveNoSession(response);
    const hint = 'Run `sallyport dashboard` for a new address.';
    throw new AdminError(401, 'dashboard.no-session', 'this page has no session with the gateway', hint);
  }
  if (!isApi) return giveAsset(parts, method, path, response);
  if (path === '/api/events' && method === 'GET') {
    if (parts.streams.add(session, response)) return;
    throw new AdminError(503, 'dashboard.too-many', 'too many pages are open', 'Close one of them.');
  }
  // What another site can make a browser send is not of this type: a form cannot set it.
  const body = method === 'POST' ? await readJson(request, maxBodyBytes) : undefined;
  if (path === '/api/leave' && method === 'POST') {
    parts.sessions.leave(session);
    response.setHeader('set-cookie', `${cookieField(parts.cookieName, '')}; Max-Age=0`);
    return giveJson(response, 200, {});
  }
  const answer = await answerApi(parts, method, stepsOf(path.slice('/api/'.length)), { query, body });
  if (answer === null) throw new AdminError(404, 'admin.not-found', 'there is nothing at this path');
  giveJson(response, answer.status, answer.json);
}

/**
 * The word of the session, in a field that no other page can send. A browser's stream of events cannot set one: it has the word
 * in its address, which nobody sees and which changes nothing.
 */
function wordOf(path: string, query: URLSearchParams, headers: IncomingHttpHeaders): string | null {
  const field = headers['x-sallyport-csrf'];
  if (typeof field === 'string') return field;
  return path === '/api/events' ? query.get('word') : null;
}

function giveAsset({ assets }: PageParts, method: string, path: string, response: ServerResponse): void {
  const asset = method === 'POST' ? undefined : assets.get(path);
  if (asset === undefined) give(response, 404, 'text/plain; charset=utf-8', 'there is nothing at this path\n');
  else give(response, 200, asset.type, asset.body);
}

function sessionOf({ sessions, cookieName }: PageParts, field: string | undefined): PageSession | null {
  for (const value of cookiesNamed(cookieName, field)) {
    const session = sessions.find(value);
    if (session !== null) return session;
  }
  return null;
}

function splitTarget(target: string): { path: string; query: URLSearchParams } {
  // Another form of target (`http://…`, `*`) names somebody else, or nobody.
  if (!target.startsWith('/')) throw new AdminError(400, 'admin.bad-request', 'this is not a path');
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  return { path, query: new URLSearchParams(question < 0 ? '' : target.slice(question + 1)) };
}

function stepsOf(path: string): string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    throw new AdminError(400, 'admin.bad-request', 'the path is not validly percent-encoded');
  }
}

/** A body that was not read would be taken for the next request. */
function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete) response.setHeader('connection', 'close');
}
