// What the page inside the sandbox says, in both forms: pure, and only of what it is handed. The words of refusals and access requests
// are partly a sandbox's own; here they become lines of text and members of JSON, nothing else.
import type { ReportedAccessRequest, ReportedRefusal } from '../../path/approvals.ts';
import type { PolicySection } from '../../policy/explain/explain-policy.ts';
import { type Content, plain } from './inside-answer.ts';

const addresses: readonly (readonly [method: string, path: string, about: string])[] = [
  ['GET', '/why', 'what was refused lately, and what would let it pass (/why?n=5, /why/REQUEST_ID)'],
  ['GET', '/policy', 'what this sandbox may do'],
  ['POST', '/requests', 'ask a person: url (or host), method, reason; as JSON or as a form'],
  ['GET', '/requests', 'what you asked for, and the answers (/requests/ID)'],
  ['GET', '/agents.md', 'a text about this page for AGENTS.md or CLAUDE.md'],
];

export function aboutPage(sandbox: string): Content {
  const about = `Sallyport is the only way out of this sandbox (${sandbox}). It answers this page itself, for you alone.`;
  const lines = addresses.map(([method, path, what]) => `${method.padEnd(5)}${path.padEnd(12)}${what}`);
  const example = `curl http://sallyport.internal/requests -d url=https://docs.example.com/api --data-urlencode reason='to read the manual'`;
  const text = [
    about,
    ...lines,
    'Answers are text; JSON with Accept: application/json. To ask a person:',
    `  ${example}`,
  ];
  const json = {
    about,
    sandbox,
    addresses: addresses.map(([method, path, what]) => ({ method, path, about: what })),
    example,
  };
  return { text: `${text.join('\n')}\n`, json };
}

export function refusalsPage(refusals: readonly ReportedRefusal[]): Content {
  const json = { refusals: refusals.map(refusalFields) };
  if (refusals.length === 0) return { text: 'Nothing was refused to this sandbox lately.\n', json };
  const title = `What was refused to this sandbox lately, the newest first (${refusals.length}):\n`;
  return { text: [title, ...refusals.map(refusalText)].join('\n'), json };
}

export function refusalPage(refusal: ReportedRefusal): Content {
  return { text: refusalText(refusal), json: refusalFields(refusal) };
}

function refusalText({ time, method, url, status, code, rule, reason, hint, requestId }: ReportedRefusal): string {
  return [
    line(`${time}  ${method} ${url}`),
    line(`  refused: ${reason} (${status} ${code})`),
    line(`  rule:    ${rule}`),
    ...(hint === '' ? [] : [`  to pass: ${plain(hint).replaceAll('\n', '\n           ')}`]),
    line(`  request: ${requestId}`),
    '',
  ].join('\n');
}

function refusalFields({ requestId, ...rest }: ReportedRefusal): object {
  return { ...rest, request_id: requestId };
}

export function accessRequestsPage(accessRequests: readonly ReportedAccessRequest[]): Content {
  const json = { requests: accessRequests.map(accessRequestFields) };
  if (accessRequests.length === 0) {
    return {
      text: 'You have asked for nothing yet. POST to http://sallyport.internal/requests to ask a person.\n',
      json,
    };
  }
  return { text: accessRequests.map(accessRequestText).join('\n'), json };
}

export function accessRequestPage(accessRequest: ReportedAccessRequest): Content {
  return { text: accessRequestText(accessRequest), json: accessRequestFields(accessRequest) };
}

function accessRequestText({ id, state, method, url, askedAt, until, next }: ReportedAccessRequest): string {
  const how = state === 'approved' && until !== null ? `approved until ${until}` : state;
  // What the policy allows already was asked of nobody, and has no id.
  const title = id === 'none' ? 'allowed' : `${id}  ${how}`;
  const lines = [`${title}  ${method} ${url}`, `  asked at ${askedAt}`, `  ${next}`];
  if (state === 'waiting') lines.push(`  its status: ${statusUrl(id)}`);
  return `${lines.map(line).join('\n')}\n`;
}

function accessRequestFields({ id, state, method, url, askedAt, until, next }: ReportedAccessRequest): object {
  return { id, state, method, url, asked_at: askedAt, until, next };
}

export function statusUrl(id: string): string {
  return `http://sallyport.internal/requests/${id}`;
}

export function policyPage(sections: readonly PolicySection[]): Content {
  const parts = sections.map(({ title, sentences }) =>
    [plain(title), ...sentences.map((one) => `  ${plain(one).replaceAll('\n', '\n  ')}`), ''].join('\n'),
  );
  return { text: parts.join('\n'), json: { policy: sections } };
}

/** A new line in it would look like something that the door says. */
function line(text: string): string {
  return plain(text).replaceAll('\n', '?');
}
