// What an answer of a person means: in words for the journal, which answers a question does not allow, and which other
// questions the same answer settles. Decides nothing about requests.
import type { ApprovalScope, Asked, PersonsAnswer, Question, ShownEffect } from '../../path/approvals.ts';
import { AnswerRefused } from './answer-refused.ts';
import { coveredBy, plainMethodOf } from './covered-by.ts';

/** A path is shown to so many characters at most; what is longer ends in this. */
export const cut = '…';
const plainMethod = /^[A-Z][A-Z-]*$/;

export function describeAnswer(answer: PersonsAnswer): string {
  if (answer.answer === 'deny') return 'deny';
  if (answer.for === 'once') return 'approve once';
  if (answer.for === 'always') return 'approve always';
  return `approve for ${answer.minutes} ${answer.minutes === 1 ? 'minute' : 'minutes'}`;
}

/** The sentence that whoever answered reads, and the journal keeps. */
export function said(asked: Asked, answer: PersonsAnswer): string {
  const what = describeAsked(asked);
  if (answer.answer === 'deny') return `denied: ${what}`;
  if (answer.for === 'once') return `approved once: ${what}`;
  if (answer.for === 'always') return `approved always: ${describeLine(asked, answer.scope)}`;
  return `approved for ${answer.minutes} minutes, for ${asked.sandbox} alone: ${reachOf(asked, answer.scope)}`;
}

/** How far a line of the policy goes: a rule for GET covers WebSockets, and any credential that belongs there goes along. */
export function describeLine(asked: Asked, scope: ApprovalScope): string {
  const method = plainMethodOf(asked);
  const isTunnel = asked.path === '';
  const reach = reachOf({ ...asked, method }, scope);
  const both = method === 'GET' && !isTunnel ? ', plain or as a WebSocket' : '';
  return `${reach}${both}, for every sandbox${isTunnel ? '' : ', with the credential that belongs there'}`;
}

function reachOf(asked: Asked, scope: ApprovalScope): string {
  const covers = coveredBy(asked, scope);
  if (covers.kind === 'effect') return describeEffect(covers);
  const what = describeAsked(asked);
  if (covers.tunnel) return what;
  return covers.path === null ? `${asked.method} on every path of ${asked.host}` : `${what}, with any query`;
}

function describeEffect({ effect, repository, scheme, host, port, credential }: ShownEffect): string {
  const at = port === (scheme === 'https' ? 443 : 80) ? host : `${host}:${port}`;
  const what = `${effect} on ${repository ?? 'every repository it may use'} at ${at}`;
  return credential === null ? `${what}, without a credential` : `${what}, with ${credential}`;
}

function describeAsked({ method, scheme, host, port, path, effect, repository }: Asked): string {
  const usual = port === (scheme === 'https' ? 443 : 80);
  if (path === '') return `an undecrypted tunnel to ${host}:${port}`;
  const url = `${method} ${scheme}://${host}${usual ? '' : `:${port}`}${path}`;
  return effect === null ? url : `${url} (${effect}${repository === null ? '' : ` on ${repository}`})`;
}

/** What was shown must say all of what would be approved for longer than this one request. */
export function refuseScope(asked: Asked, scope: ApprovalScope): void {
  const { method, path, sandbox, effect, repository } = asked;
  const hint = 'Approve it once, or deny it.';
  if (!plainMethod.test(plainMethodOf(asked))) {
    const message = `${sandbox} asks for ${method}, which is more than one method`;
    throw new AnswerRefused('not-so', `${message}: that is approved once only`, hint);
  }
  if (coveredBy(asked, scope).kind === 'effect') {
    if (scope === 'host' || repository !== null) return;
    const message = `the gateway does not know the name of the repository, so it cannot be approved for longer (${effect})`;
    throw new AnswerRefused('not-so', message, 'Approve it once, or on every repository it may use (`--host`).');
  }
  if (scope !== 'path') return;
  if (path.endsWith(cut)) {
    throw new AnswerRefused('not-so', 'the path is too long to be shown whole: it is approved once only', hint);
  }
  // A server may read it in two ways (authorize/path-forms.ts), and one text is not both of them.
  if (/%2f|%5c|%3f|%23/i.test(path)) {
    const message =
      'the path has an encoded separator (%2F, %3F), which servers read in two ways: this path alone can be approved only once';
    throw new AnswerRefused('not-so', message, 'Approve it once, or every path of the host (`--host`).');
  }
}

/** Whether that answer to one question is the answer to another as well. */
export function releases(asked: Asked, answer: PersonsAnswer, other: Question): boolean {
  if (answer.answer !== 'approve' || answer.for === 'once' || other.inVain !== null) return false;
  if (answer.for === 'minutes' && other.sandbox !== asked.sandbox) return false;
  // What it would carry was shown too.
  if (other.credential !== asked.credential || other.path.endsWith(cut)) return false;
  if (!plainMethod.test(plainMethodOf(other))) return false;
  return JSON.stringify(coveredBy(asked, answer.scope)) === JSON.stringify(coveredBy(other, answer.scope));
}
