// The fields and the query of a request as they go on to the upstream: without hop-by-hop and proxy fields, without any
// auth the sandbox sent to a credentialed host, and asking for nothing that could not be read on its way back.
import { fieldsToSend } from '../../path/enrich.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import type { Authorized } from '../../path/flow.ts';
import { connectionNames } from '../../protocols/http/hop-by-hop.ts';
import { type HostPlan, isDropped } from './host-plan.ts';
import { readableCodings, readableExtensions } from './scrub/readable-answer.ts';
import { withoutParameters } from './strip-query.ts';

export interface OutgoingRules {
  readonly drop: ReadonlySet<string>;
  readonly credentialed: boolean;
  /** Whether the answer will be searched: then it must come in a coding that can be read. */
  readonly readable: boolean;
}

/** Written anew, or left out, where the answer must be readable. */
const answerForms: ReadonlySet<string> = new Set([
  'accept-encoding',
  'grpc-accept-encoding',
  'sec-websocket-extensions',
]);

/** The fields of the request that go on to the upstream, in one pass. */
export function outgoingFields(flow: Authorized, { drop, credentialed, readable }: OutgoingRules): HeaderList {
  const { protocol } = flow.request;
  const headers = fieldsToSend(flow);
  const { names, keys, values } = headers;
  const named = keys.includes('connection') ? connectionNames(headers.getAll('connection')) : null;
  const out = new HeaderList();
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    let value = values[i]!;
    if (isDropped(drop, key) || named?.has(key)) {
      // gRPC over HTTP/2 needs it; HTTP/2 allows no other value (RFC 9113 8.2.2).
      if (key !== 'te' || protocol !== 'h2' || value.trim().toLowerCase() !== 'trailers') continue;
    }
    if (readable && answerForms.has(key)) continue;
    if (credentialed && key === 'sec-websocket-protocol') {
      const offers = withoutSubprotocolKeys(value);
      if (offers === null) continue;
      value = offers;
    }
    out.names.push(names[i]!);
    out.keys.push(key);
    out.values.push(value);
  }
  if (readable) askReadably(headers, out);
  return out;
}

/** Asks for what the client asked for, as far as we can read it. With no Accept-Encoding any coding would do (RFC 9110 section 12.5.3). */
function askReadably(asked: HeaderList, out: HeaderList): void {
  // A part of a coded body cannot be read by itself.
  out.append('Accept-Encoding', readableCodings(out.has('range') ? undefined : joined(asked, 'accept-encoding')));
  const extensions = joined(asked, 'sec-websocket-extensions');
  const offered = extensions === undefined ? null : readableExtensions(extensions);
  if (offered !== null) out.append('Sec-WebSocket-Extensions', offered);
}

function joined(headers: HeaderList, key: string): string | undefined {
  return headers.has(key) ? headers.getAll(key).join(', ') : undefined;
}

export function outgoingQuery(flow: Authorized, plan: HostPlan): string | null {
  const { query } = flow.canonical;
  return query === null ? null : withoutParameters(query, plan.stripQuery);
}

export function outgoingTarget(flow: Authorized, query: string | null): string {
  return query === null ? flow.canonical.rawPath : `${flow.canonical.rawPath}?${query}`;
}

/** A list field that has `member` among its members, whatever else the client has written there. */
export function withMember(headers: HeaderList, name: string, member: string): HeaderList {
  const key = name.toLowerCase();
  const members = headers.getAll(key).flatMap((value) => value.split(',').map((part) => part.trim()));
  if (members.includes(member)) return headers;
  const rest = headers.without((one) => one === key);
  return rest.append(name, [...members.filter((part) => part !== ''), member].join(','));
}

/** Fields of the gateway's own, in place of any that the client has sent. */
export function withFields(headers: HeaderList, fields: readonly (readonly [string, string])[]): HeaderList {
  if (fields.length === 0) return headers;
  const own = new Set(fields.map(([name]) => name.toLowerCase()));
  const out = headers.without((key) => own.has(key.replaceAll('_', '-')));
  for (const [name, value] of fields) out.append(name, value);
  return out;
}

// Browsers cannot set headers on a WebSocket, so OpenAI also takes the key as a subprotocol (`realtime,
// openai-insecure-api-key.sk-…`). That is one more place where a sandbox's own key could go out.
const keyBearing = /^openai-(?:insecure-api-key|organization|project)\./i;

/** A Sec-WebSocket-Protocol value without the offers that carry auth; null when no offer is left. */
function withoutSubprotocolKeys(value: string): string | null {
  const offers = value.split(',');
  const kept = offers.filter((offer) => !keyBearing.test(offer.trim()));
  if (kept.length === offers.length) return value;
  const text = kept.join(',').trim();
  return text === '' ? null : text;
}
