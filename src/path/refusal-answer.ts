// How a refusal looks to the client: the contract's JSON, or plain text where git is asking, which shows nothing else.
// Only what the refusal may tell: never its cause.

import { HeaderList } from './exchange/header-list.ts';
import type { Accepted, Arrived } from './flow.ts';
import type { Refusal } from './refusal.ts';

const gitEndpoint = /\/(?:info\/refs|git-upload-pack|git-receive-pack)(?:\?|$)/;
/** git-lfs shows the field `message` of a JSON body, and nothing else of it. */
const lfsEndpoint = /\/info\/lfs\//;

export interface RefusalAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export function renderRefusal(refusal: Refusal, flow: Arrived): RefusalAnswer {
  const headers = new HeaderList();
  if (refusal.inProtocol !== null) {
    const { contentType, body } = refusal.inProtocol;
    headers.append('Content-Type', contentType).append('Cache-Control', 'no-cache');
    headers.append('X-Sallyport-Refused', refusal.code);
    return { status: 200, headers, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
  }
  const forGit = gitEndpoint.test(flow.request.target);
  const forLfs = !forGit && lfsEndpoint.test(flow.request.target);
  const jsonType = forLfs ? 'application/vnd.git-lfs+json' : 'application/json';
  headers.append('Content-Type', forGit ? 'text/plain; charset=utf-8' : jsonType);
  headers.append('Cache-Control', 'no-store');
  // Tells our own no from one of the upstream.
  headers.append('X-Sallyport-Refused', refusal.code);
  if (refusal.endsConnection) headers.append('Connection', 'close');
  if (refusal.status === 407) headers.append('Proxy-Authenticate', 'Basic realm="sallyport"');
  if (refusal.retryAfterSeconds !== null) headers.append('Retry-After', String(refusal.retryAfterSeconds));
  const said = forLfs || isGithubApi(flow) ? { message: `${refusal.message}. ${refusal.hint}` } : {};
  const fields = { ...said, ...asJson(refusal, flow) };
  const text = forGit ? inWords(refusal, flow) : `${JSON.stringify(fields)}\n`;
  return { status: refusal.status, headers, body: Buffer.from(text) };
}

/** gh and GitHub's own libraries show the field `message` too. */
function isGithubApi({ canonical }: Arrived & Partial<Accepted>): boolean {
  if (canonical === undefined) return false;
  return /^(?:api|uploads)\.github\.com$/.test(canonical.host) || /^\/api\/(?:v3|uploads)\//.test(canonical.path);
}

function asJson(refusal: Refusal, flow: Arrived): object {
  return {
    error: refusal.message,
    code: refusal.code,
    rule: refusal.rule,
    hint: refusal.hint,
    request_id: flow.requestId,
  };
}

function inWords(refusal: Refusal, flow: Arrived): string {
  const hint = refusal.hint === '' ? '' : `${refusal.hint}\n`;
  return `${refusal.message}\n${hint}(rule ${refusal.rule}, request ${flow.requestId})\n`;
}
