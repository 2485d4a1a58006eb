// How the door answers on its own page: text by default, because agents read text, or JSON for who asks for it. Every answer
// is for one reader and one moment: nothing is kept by anybody on the way, and nothing in it is taken for more than text.

import { replaceUnseen } from '../../kit/text/unseen.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import type { OwnAnswer } from '../../path/exchange/outgoing-request.ts';
import type { Authorized } from '../../path/flow.ts';

/** The same content in both forms. */
export interface Content {
  readonly text: string;
  readonly json: object;
}

export interface Problem {
  readonly status: number;
  readonly error: string;
  readonly hint: string;
  /** Where the contract has a code for it. */
  readonly code?: string;
  readonly fields?: readonly (readonly [string, string])[];
}

export function tell(
  flow: Authorized,
  status: number,
  content: Content,
  fields: readonly (readonly [string, string])[] = [],
): OwnAnswer {
  const asJson = wantsJson(flow);
  const type = asJson ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8';
  return answerAs(type, status, asJson ? `${JSON.stringify(content.json)}\n` : content.text, fields);
}

/** A no in words: what is wrong, and what to do next. */
export function tellProblem(flow: Authorized, problem: Problem): OwnAnswer {
  const { status, error, hint, code, fields } = problem;
  const json = { error, ...(code !== undefined && { code }), hint, request_id: flow.requestId };
  return tell(flow, status, { text: `${plain(error)}\n${plain(hint)}\n`, json }, fields);
}

export function answerAs(
  type: string,
  status: number,
  body: string,
  fields: readonly (readonly [string, string])[] = [],
): OwnAnswer {
  const headers = HeaderList.from([
    ['Content-Type', type],
    ['Cache-Control', 'no-store'],
    ['X-Content-Type-Options', 'nosniff'],
    // The same address answers in two forms.
    ['Vary', 'Accept'],
    ...fields,
  ]);
  return { status, headers, body: Buffer.from(body) };
}

/** By the address (`/why.json`), by Accept, or because the question itself was JSON. */
function wantsJson({ canonical, request }: Authorized): boolean {
  if (canonical.path.endsWith('.json')) return true;
  const accept = (request.headers.get('accept') ?? '').toLowerCase();
  if (accept.includes('application/json')) return true;
  const type = (request.headers.get('content-type') ?? '').toLowerCase();
  return canonical.method === 'POST' && type.startsWith('application/json') && !accept.includes('text/plain');
}

/** Text that is read on a terminal: nothing in it drives one, or turns the direction of writing around. Lines stay. */
export function plain(text: string): string {
  const lines = text.split('\n').map((line) => replaceUnseen(line, '?'));
  return lines.join('\n');
}
