// http://sallyport.internal/: what the door itself answers to an identified sandbox about that sandbox. Asked by the forward
// stage in place of an upstream. Whose answer it is comes from the flow alone, never from anything in the request; nothing
// here reaches the network, and no value of a credential is in sight.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../kit/files/package-root.ts';
import type { InsideApi } from '../../path/approvals.ts';
import { fieldsToSend } from '../../path/enrich.ts';
import type { OwnAnswer } from '../../path/exchange/outgoing-request.ts';
import { readWholeBody } from '../../path/exchange/whole-body.ts';
import { payloadExchange } from '../../path/exchange/wrappers.ts';
import type { Authorized } from '../../path/flow.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { PolicySection } from '../../policy/explain/explain-policy.ts';
import { answerAs, tell, tellProblem } from './inside-answer.ts';
import {
  aboutPage,
  accessRequestPage,
  accessRequestsPage,
  policyPage,
  refusalPage,
  refusalsPage,
  statusUrl,
} from './inside-texts.ts';
import { maxAccessRequestBytes, readAccessRequest } from './read-access-request.ts';

export interface InsideParts {
  readonly api: InsideApi;
  /** Takes real credentials out of what a sandbox has a say in. */
  readonly clean?: (text: string) => string;
  /** The policy as it holds for this sandbox, in sentences that it may read. */
  readonly explain: (sandbox: Sandbox) => readonly PolicySection[];
}

type AnswerInside = (flow: Authorized) => Promise<OwnAnswer>;

const maxShown = 20;
const howToAsk =
  'Send {"url": "https://host/path", "method": "GET", "reason": "what it is for"} as JSON or as a form; "host" in place of "url" asks for a host.';

export function createInside({ api, explain, clean = (text) => text }: InsideParts): AnswerInside {
  const pages: ReadonlyMap<string, Page> = new Map<string, Page>([
    ['/', { GET: async (flow) => tell(flow, 200, aboutPage(flow.sandbox.id)) }],
    ['/why', { GET: (flow, id) => tellRefusals(flow, api, id), hasParts: true }],
    ['/policy', { GET: async (flow) => tell(flow, 200, policyPage(explain(flow.sandbox))) }],
    [
      '/requests',
      {
        GET: (flow, id) => reportAccessRequests(flow, api, id),
        POST: (flow) => takeAccessRequest(flow, api, clean),
        hasParts: true,
      },
    ],
    ['/agents.md', { GET: async () => answerAs('text/markdown; charset=utf-8', 200, agentsText()) }],
  ]);
  return async (flow) => {
    const { name, part } = split(flow.canonical.path);
    const page = pages.get(name);
    if (page === undefined || (part !== null && page.hasParts !== true)) return notHere(flow);
    const { method } = flow.canonical;
    if (method === 'GET' || method === 'HEAD') return page.GET(flow, part);
    if (method === 'POST' && page.POST !== undefined && part === null) return page.POST(flow);
    return otherMethod(flow, part === null && page.POST !== undefined ? 'GET, HEAD, POST' : 'GET, HEAD');
  };
}

interface Page {
  readonly GET: (flow: Authorized, part: string | null) => Promise<OwnAnswer>;
  readonly POST?: (flow: Authorized) => Promise<OwnAnswer>;
  /** One thing of it has an address of its own: `/why/REQUEST_ID`. */
  readonly hasParts?: true;
}

function split(path: string): { readonly name: string; readonly part: string | null } {
  const [, first = '', second, ...more] = path.replace(/(?<=.)\/$/, '').split('/');
  if (more.length > 0) return { name: path, part: null };
  if (second !== undefined) return { name: `/${first}`, part: second.replace(/\.json$/, '') };
  return { name: `/${first.replace(/^(why|policy|requests)\.json$/, '$1')}`, part: null };
}

async function tellRefusals(flow: Authorized, api: InsideApi, id: string | null): Promise<OwnAnswer> {
  const asked = id === null ? new URLSearchParams(flow.canonical.query ?? '').get('n') : null;
  if (asked !== null && !/^[1-9]\d{0,5}$/.test(asked)) {
    const error = '"n" must be a whole number, from 1 on';
    return tellProblem(flow, { status: 400, error, hint: `At most ${maxShown} refusals are kept: /why?n=5.` });
  }
  const refusals = await api.refusalsOf(flow.sandbox.id);
  if (id === null)
    return tell(flow, 200, refusalsPage(refusals.slice(0, Math.min(Number(asked ?? maxShown), maxShown))));
  const found = refusals.find(({ requestId }) => requestId === id);
  if (found !== undefined) return tell(flow, 200, refusalPage(found));
  const error = 'no recent refusal of this sandbox has that id';
  return tellProblem(flow, { status: 404, error, hint: 'See the recent ones: http://sallyport.internal/why' });
}

async function reportAccessRequests(flow: Authorized, api: InsideApi, id: string | null): Promise<OwnAnswer> {
  const accessRequests = await api.accessRequestsOf(flow.sandbox.id);
  if (id === null) return tell(flow, 200, accessRequestsPage(accessRequests));
  const found = accessRequests.find((accessRequest) => accessRequest.id === id);
  if (found !== undefined) return tell(flow, 200, accessRequestPage(found));
  const error = 'this sandbox has no access request with that id';
  return tellProblem(flow, { status: 404, error, hint: 'See all of them: http://sallyport.internal/requests' });
}

async function takeAccessRequest(
  flow: Authorized,
  api: InsideApi,
  clean: (text: string) => string,
): Promise<OwnAnswer> {
  const headers = fieldsToSend(flow);
  const coding = headers.get('content-encoding') ?? 'identity';
  const isMultipart = (headers.get('content-type') ?? '').toLowerCase().startsWith('multipart/');
  if (coding.toLowerCase() !== 'identity' || isMultipart) {
    const error = isMultipart ? 'a multipart form is not read here' : 'a compressed body is not read here';
    return tellProblem(flow, { status: 415, error, hint: howToAsk });
  }
  const exchange = payloadExchange(flow);
  const body = await readWholeBody(exchange, maxAccessRequestBytes);
  exchange.onAbandoned = null;
  if (body === null) {
    const error = `a request to a person has more than ${maxAccessRequestBytes} bytes`;
    return tellProblem(flow, {
      status: 413,
      error,
      hint: 'Say it in a few words: the reason has at most 500 characters.',
    });
  }
  const reading = readAccessRequest(body);
  if ('problem' in reading) return tellProblem(flow, { status: 400, error: reading.problem, hint: howToAsk });
  // It was unfolded since its bytes were searched.
  const { host, path, reason } = reading.accessRequest;
  const accessRequest = { ...reading.accessRequest, host: clean(host), path: clean(path), reason: clean(reason) };
  const made = await api.accessRequest(flow.sandbox.id, accessRequest);
  if ('refused' in made) return notAsked(flow, made.refused);
  // What the policy allows already is no question to anybody.
  if (made.state !== 'waiting') return tell(flow, 200, accessRequestPage(made));
  return tell(flow, 202, accessRequestPage(made), [['Location', statusUrl(made.id)]]);
}

/** Said at once: an agent that is told "accepted" waits for an answer that nobody will give. */
function notAsked(flow: Authorized, why: 'too-many' | 'nobody-watches'): OwnAnswer {
  const fields = [['Retry-After', '60']] as const;
  if (why === 'too-many') {
    const error = 'too many of your requests already wait for a person';
    const hint = 'Wait for an answer to those: http://sallyport.internal/requests';
    return tellProblem(flow, { status: 429, code: 'approval.too-many', error, hint, fields });
  }
  const error = 'nobody is watching, so nobody would see this request: it was not accepted';
  const hint =
    'Tell your user to open the dashboard (`sallyport dashboard`) or to run `sallyport watch`, then send it again.';
  return tellProblem(flow, { status: 503, code: 'approval.unwatched', error, hint, fields });
}

function notHere(flow: Authorized): OwnAnswer {
  const error = `there is nothing at ${flow.canonical.path.slice(0, 200)}`;
  return tellProblem(flow, { status: 404, error, hint: 'What there is: http://sallyport.internal/' });
}

function otherMethod(flow: Authorized, allowed: string): OwnAnswer {
  const error = `${flow.canonical.method} is not answered here`;
  const hint = `Use ${allowed.replaceAll(', ', ' or ')}.`;
  return tellProblem(flow, { status: 405, error, hint, fields: [['Allow', allowed]] });
}

let agents: string | null = null;

/** The file that ships with the package, so that there is one text. */
function agentsText(): string {
  agents ??= readFileSync(inPackage('config', 'AGENTS.sallyport.md'), 'utf8');
  return agents;
}
