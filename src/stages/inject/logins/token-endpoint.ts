// Token endpoints as sandboxes see them: an agent that finds its login expired asks for a new one, and gets placeholders of
// the right shape from here. Nothing is forwarded and no real token is in sight. Only a placeholder is ever exchanged: a
// login that is begun in a sandbox would put real tokens there, so it is refused.

import { placeholderSigns } from '../../../kit/text/placeholder.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import type { OwnAnswer } from '../../../path/exchange/outgoing-request.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CredentialSpec, TokenAnswer, TokenEndpoint } from '../../../policy/compiled.ts';
import { madeAnswer } from './token-endpoint-answers.ts';
import { type TokenRequest, tokenRequestIn } from './token-endpoint-request.ts';

/** A request for tokens has a few hundred bytes; one with an assertion in it some thousand. */
const maxBodyBytes = 64 * 1024;

export class SandboxTokenEndpoint {
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** What the client gets in place of an answer of `endpoint`. Throws a Refusal for all but a placeholder's renewal. */
  async answer(flow: Authorized, spec: CredentialSpec, endpoint: TokenEndpoint): Promise<OwnAnswer> {
    refuseOthers(flow, spec);
    const kind = endpoint.answers;
    refuseMethod(flow, kind);
    const body = await bodyOf(flow);
    if (kind === 'google-tokeninfo') refuseStranger(flow, spec, shownTokens(flow, body));
    else if (kind !== 'chatgpt-accounts') refuseOtherGrants(flow, spec, body);
    const headers = HeaderList.from([
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
    ]);
    return { status: 200, headers, body: Buffer.from(JSON.stringify(madeAnswer(kind, spec.name, this.#now()))) };
  }
}

function refuseOthers({ sandbox }: Authorized, { name }: CredentialSpec): void {
  if (sandbox.credentials === null || sandbox.credentials.includes(name)) return;
  throw new Refusal('token.login-outside', `${sandbox.id} is not registered for the credential ${name}`, {
    rule: `credentials.${name}`,
    hint: `The operator must register the sandbox with ${name} among its credentials.`,
  });
}

function refuseMethod({ canonical }: Authorized, kind: TokenAnswer): void {
  const { method, host, path } = canonical;
  const allowed = kind === 'chatgpt-accounts' ? ['GET'] : kind === 'google-tokeninfo' ? ['GET', 'POST'] : ['POST'];
  if (allowed.includes(method)) return;
  throw new Refusal(
    'method.not-allowed',
    `${host}${path} is answered by the gateway, for ${allowed.join(' and ')} only`,
    {
      hint: `Send ${allowed.join(' or ')}.`,
    },
  );
}

async function bodyOf(flow: Authorized): Promise<TokenRequest> {
  const exchange = flow.exchange.asPayload();
  const bytes = await readWholeBody(exchange, maxBodyBytes);
  exchange.onAbandoned = null;
  if (bytes === null) {
    throw new Refusal('limit.body-size', `a request for tokens has more than ${maxBodyBytes} bytes`, {
      hint: 'Send only the request for a token: no client of this service sends that much.',
    });
  }
  const found = tokenRequestIn(bytes, flow.request.headers);
  if (found !== null) return found;
  throw new Refusal('token.malformed', 'the request for tokens is neither JSON nor a form', {
    hint: 'Send grant_type and refresh_token as JSON or as application/x-www-form-urlencoded, uncompressed.',
  });
}

function refuseOtherGrants(flow: Authorized, spec: CredentialSpec, body: TokenRequest): void {
  const grant = body.get('grant_type');
  if (grant !== 'refresh_token') {
    const asked = grant === undefined ? 'something else' : `a new login (grant_type ${printable(grant)})`;
    throw loginOutside(flow, spec, `asks for ${asked}, and only a login that is there is renewed here`);
  }
  refuseStranger(flow, spec, [body.get('refresh_token') ?? '']);
}

/** A token that is no placeholder of this credential is none of ours: it is neither exchanged nor told anything about. */
function refuseStranger(flow: Authorized, spec: CredentialSpec, tokens: readonly string[]): void {
  const signs = placeholderSigns(spec.name);
  const known = (token: string): boolean => signs.some((sign) => token.includes(sign));
  if (tokens.length > 0 && tokens.every(known)) return;
  throw loginOutside(flow, spec, 'shows a token that is not the placeholder of this sandbox');
}

/** Where Google's clients put the token that they ask about. */
function shownTokens({ request, canonical }: Authorized, body: TokenRequest): string[] {
  const query = new URLSearchParams(canonical.query ?? '');
  const named = ['access_token', 'id_token'].flatMap((name) => [...query.getAll(name), body.get(name) ?? []].flat());
  return [...request.headers.getAll('authorization'), ...named];
}

function loginOutside({ canonical }: Authorized, spec: CredentialSpec, what: string): Refusal {
  return new Refusal('token.login-outside', `${canonical.method} ${canonical.host}${canonical.path} ${what}`, {
    rule: `credentials.${spec.name}`,
    hint: 'Log in with this tool outside the sandbox, on the machine of the gateway. The gateway renews that login and adds it to the requests of the sandbox. Inside, use the login file that the sandbox was given.',
  });
}

/** What a sandbox wrote goes back to it and into the journal: short, and no surprises. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '?').slice(0, 80);
}
