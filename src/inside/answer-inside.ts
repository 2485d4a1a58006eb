// http://sallyport.internal/: what the door itself answers to an identified sandbox about that sandbox. Asked by the forward
// stage in place of an upstream. Whose answer it is comes from the flow alone, never from anything in the request; nothing
// here reaches the network, and no value of a credential is in sight.
import { readFileSync } from 'node:fs';
import type { InsideDesk } from '../flow/approvals.ts';
import type { Authorized } from '../flow/flow.ts';
import type { OwnAnswer } from '../flow/outgoing-request.ts';
import type { Sandbox } from '../flow/sandbox.ts';
import { readWholeBody } from '../flow/whole-body.ts';
import { inPackage } from '../kit/package-root.ts';
import type { PolicySection } from '../policy/explain-policy.ts';
import { answerAs, tell, tellProblem } from './inside-answer.ts';
import { aboutPage, policyPage, refusalPage, refusalsPage, statusUrl, wishesPage, wishPage } from './inside-texts.ts';
import { maxWishBytes, readWish } from './read-wish.ts';

export interface InsideParts {
  readonly desk: InsideDesk;
  /** Takes real credentials out of what a sandbox has a say in. */
  readonly clean?: (text: string) => string;
  /** The policy as it holds for this sandbox, in sentences that it may read. */
  readonly explain: (sandbox: Sandbox) => readonly PolicySection[];
}

type AnswerInside = (flow: Authorized) => Promise<OwnAnswer>;

const maxShown = 20;
const howToAsk =
  'Send {"url": "https://host/path", "method": "GET", "reason": "what it is for"} as JSON or as a form; "host" in place of "url" asks for a host.';

export function createInside({ desk, explain, clean = (text) => text }: InsideParts): AnswerInside {
  const pages: ReadonlyMap<string, Page> = new Map<string, Page>([
    ['/', { GET: async (flow) => tell(flow, 200, aboutPage(flow.sandbox.id)) }],
    ['/why', { GET: (flow, id) => tellRefusals(flow, desk, id), hasParts: true }],
    ['/policy', { GET: async (flow) => tell(flow, 200, policyPage(explain(flow.sandbox))) }],
    [
      '/requests',
      { GET: (flow, id) => tellWishes(flow, desk, id), POST: (flow) => takeWish(flow, desk, clean), hasParts: true },
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

async function tellRefusals(flow: Authorized, desk: InsideDesk, id: string | null): Promise<OwnAnswer> {
  const asked = id === null ? new URLSearchParams(flow.canonical.query ?? '').get('n') : null;
  if (asked !== null && !/^[1-9]\d{0,5}$/.test(asked)) {
    const error = '"n" must be a whole number, from 1 on';
    return tellProblem(flow, { status: 400, error, hint: `At most ${maxShown} refusals are kept: /why?n=5.` });
  }
  const refusals = await desk.refusalsOf(flow.sandbox.id);
  if (id === null)
    return tell(flow, 200, refusalsPage(refusals.slice(0, Math.min(Number(asked ?? maxShown), maxShown))));
  const found = refusals.find(({ requestId }) => requestId === id);
  if (found !== undefined) return tell(flow, 200, refusalPage(found));
  const error = 'no refusal of this sandbox with that id is remembered';
  return tellProblem(flow, { status: 404, error, hint: 'Those that are remembered: http://sallyport.internal/why' });
}

async function tellWishes(flow: Authorized, desk: InsideDesk, id: string | null): Promise<OwnAnswer> {
  const wishes = await desk.wishesOf(flow.sandbox.id);
  if (id === null) return tell(flow, 200, wishesPage(wishes));
  const found = wishes.find((wish) => wish.id === id);
  if (found !== undefined) return tell(flow, 200, wishPage(found));
  const error = 'this sandbox has asked for nothing under that id';
  return tellProblem(flow, { status: 404, error, hint: 'What it asked for: http://sallyport.internal/requests' });
}

async function takeWish(flow: Authorized, desk: InsideDesk, clean: (text: string) => string): Promise<OwnAnswer> {
  const { headers } = flow.request;
  const coding = headers.get('content-encoding') ?? 'identity';
  const isMultipart = (headers.get('content-type') ?? '').toLowerCase().startsWith('multipart/');
  if (coding.toLowerCase() !== 'identity' || isMultipart) {
    const error = isMultipart ? 'a multipart form is not read here' : 'a compressed body is not read here';
    return tellProblem(flow, { status: 415, error, hint: howToAsk });
  }
  const exchange = flow.exchange.asPayload();
  const body = await readWholeBody(exchange, maxWishBytes);
  exchange.onAbandoned = null;
  if (body === null) {
    const error = `a request to a person has more than ${maxWishBytes} bytes`;
    return tellProblem(flow, {
      status: 413,
      error,
      hint: 'Say it in a few words: the reason has at most 500 characters.',
    });
  }
  const reading = readWish(body);
  if ('problem' in reading) return tellProblem(flow, { status: 400, error: reading.problem, hint: howToAsk });
  // It was unfolded since its bytes were searched.
  const { host, path, reason } = reading.wish;
  const wish = { ...reading.wish, host: clean(host), path: clean(path), reason: clean(reason) };
  const made = await desk.wish(flow.sandbox.id, wish);
  if ('refused' in made) return notAsked(flow, made.refused);
  // What the policy allows already is no question to anybody.
  if (made.state !== 'waiting') return tell(flow, 200, wishPage(made));
  return tell(flow, 202, wishPage(made), [['Location', statusUrl(made.id)]]);
}

/** Said at once: an agent that is told "accepted" waits for an answer that nobody will give. */
function notAsked(flow: Authorized, why: 'too-many' | 'nobody-watches'): OwnAnswer {
  const fields = [['Retry-After', '60']] as const;
  if (why === 'too-many') {
    const error = 'too many of these requests wait for a person already';
    const hint = 'Wait for an answer to those: http://sallyport.internal/requests';
    return tellProblem(flow, { status: 429, code: 'approval.too-many', error, hint, fields });
  }
  const error = 'nobody is watching, so nobody would see this request: it was not taken';
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
