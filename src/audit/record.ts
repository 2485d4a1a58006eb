// The audit record: one flat object of constant shape per request, built from a flow and how it ended. What the
// sandbox sent as header values, query values or bodies never enters it; the operator's own causes do, masked.
import type { Arrived, Forwarded, RawRequest } from '../flow/flow.ts';
import type { Refusal } from '../flow/refusal.ts';
import type { Step } from '../flow/trail.ts';
import { maskText } from '../kit/mask-text.ts';

export type Verdict = 'allowed' | 'refused' | 'failed' | 'abandoned';

export interface Outcome {
  readonly verdict: Verdict;
  /** What the client was answered; 0 when it got no answer. */
  readonly status: number;
  readonly refusal: Refusal | null;
  /** What went wrong when nothing was refused on purpose. */
  readonly error: unknown;
}

/** Everything but the chain's own fields, in the order in which it is written. */
export interface RecordBody {
  readonly time: string;
  readonly id: string;
  readonly sandbox: string | null;
  readonly door: string;
  /** The address the connection came from; null where the door is one sandbox's own. */
  readonly from: string | null;
  readonly proof: readonly string[];
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  /** The `address:port` that a transparent connection was made to; null on a door that is spoken to as a proxy. */
  readonly destination: string | null;
  /** Decoded path, at most 1 KiB. */
  readonly path: string;
  /** Names of the query parameters, joined by `&`; null without a query. */
  readonly query: string | null;
  readonly kind: string;
  /** What git asked for: operation, repository, and of a push its refs; null for anything else. */
  readonly git: string | null;
  readonly protocol: string;
  readonly verdict: Verdict;
  readonly status: number;
  readonly code: string | null;
  readonly rule: string | null;
  readonly reason: string | null;
  /**
   * What the sandbox was told: the reason without the causes, which are the operator's alone, and what would make it pass.
   * Only these two may be shown to a sandbox. Null: it was not refused.
   */
  readonly told: string | null;
  readonly hint: string | null;
  readonly credential: string | null;
  readonly upstream: string | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  /** How many times the credential came back in the answer and was replaced. */
  readonly scrubbed: number;
  /**
   * What of a credential was where it does not belong, e.g. `placeholder of github in the body`; the first word says what
   * kind it is. Null: nothing.
   */
  readonly incident: string | null;
  /** Of a request to a model, as its provider names it. */
  readonly model: string | null;
  /** What it cost: with what came out of a cache, or was put there, and in US dollars. */
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_usd: number;
  /** The provider did not say all of it: some was estimated from the length of what passed. */
  readonly tokens_estimated: boolean;
  readonly ms: number;
  readonly trail: readonly Step[];
}

/** What the journal says that is no request: of itself (a recovery, records that could not be kept), or of people. */
export type NoteBody = OwnNote | ApprovalNote;

export interface OwnNote {
  readonly time: string;
  readonly note: 'recovered' | 'lost';
  readonly text: string;
  /** Bytes cut off, or records lost. */
  readonly count: number;
}

/** What a person answered, or that nobody did; an approval that was ended; a sandbox that began to learn. */
export interface ApprovalNote {
  readonly time: string;
  readonly note: 'approval';
  readonly text: string;
  readonly count: 1;
  readonly sandbox: string;
  /** The request that waited; null: none did. */
  readonly request: string | null;
  /** Who answered; null: nobody. */
  readonly by: string | null;
  /** `deny`, `approve once`, `approve for 15 minutes`, `approve always`, `unanswered`, `withdrawn`, `learn`, … */
  readonly answer: string;
}

export interface Link {
  readonly seq: number;
  /** SHA-256 of the line before, in hex. */
  readonly prev: string;
}

export type AuditRecord = Link & RecordBody;
export type AuditNote = Link & NoteBody;

const maxText = 1024;
const maxModel = 80;
/** A longer "name" is more likely a value without its name. */
const maxQueryName = 32;

/**
 * The flow as far as it came: stages add what they learn to the one object. `clean` takes out of a text what must not be
 * written down: a sandbox that has found a credential may send it as a path. It comes first: half of one is not found.
 */
export function describeFlow(
  flow: Arrived & Partial<Forwarded>,
  outcome: Outcome,
  clean: (text: string) => string = unchanged,
): RecordBody {
  const { request, exchange, canonical, sandbox, permission, used } = flow;
  const target = canonical ?? readLeniently(request);
  const { refusal } = outcome;
  return {
    time: isoTime(flow.arrivedAt),
    id: flow.requestId,
    // Whatever comes through a door of one sandbox comes from it, also what was refused before anybody asked who it is.
    sandbox: sandbox === undefined ? flow.caller.socketOf : sandbox.id,
    door: flow.caller.door,
    from: flow.caller.address,
    proof: sandbox === undefined ? [] : sandbox.proof,
    method: capped(clean(request.method), 32),
    scheme: request.scheme,
    host: capped(clean(target.host), 255),
    port: target.port,
    destination: request.destination,
    path: capped(clean(target.path), maxText),
    query: target.query === null ? null : queryNames(clean(target.query)),
    kind: canonical === undefined ? request.kind : canonical.kind,
    git: flow.asked === undefined ? null : capped(clean(flow.asked), maxText),
    protocol: request.protocol,
    verdict: outcome.verdict,
    status: outcome.status,
    code: codeOf(outcome),
    rule: refusal !== null ? refusal.rule : permission === undefined ? null : permission.rule,
    reason:
      refusal === null && outcome.error == null ? null : capped(clean(explain(refusal ?? outcome.error)), maxText),
    told: refusal === null ? null : capped(clean(refusal.message), maxText),
    hint: refusal === null ? null : capped(clean(refusal.hint), maxText),
    credential: flow.injected ?? null,
    upstream: flow.upstreamAddress ?? null,
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    scrubbed: flow.outgoing?.scrub?.replaced ?? 0,
    incident: flow.incident ?? null,
    model: used === undefined || used.model === null ? null : capped(clean(used.model), maxModel),
    tokens_in: used === undefined ? 0 : used.tokensIn,
    tokens_out: used === undefined ? 0 : used.tokensOut,
    cost_usd: used === undefined ? 0 : used.microDollars / 1_000_000,
    tokens_estimated: used?.isEstimated === true,
    ms: Math.round((performance.now() - flow.trail.startedMs) * 100) / 100,
    trail: flow.trail.steps,
  };
}

/** A client that went away was not refused, and nothing failed. */
function codeOf({ refusal, error, verdict }: Outcome): string | null {
  if (refusal !== null) return refusal.code;
  return error == null || verdict === 'abandoned' ? null : 'internal.error';
}

/** The message with its causes, for the operator. Masked: a cause may quote what an upstream or a source said. */
function explain(error: unknown): string {
  const parts: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < 4 && at != null; depth++) {
    parts.push(at instanceof Error ? at.message : String(at));
    at = at instanceof Error ? at.cause : null;
  }
  return maskText(parts.join(': '));
}

/** Names alone. What is sent as a bare word, or is too long for a name, may be a value: it is not kept. */
function queryNames(query: string): string {
  if (query === '') return '';
  const names: string[] = [];
  for (const item of query.split('&', 64)) {
    const equals = item.indexOf('=');
    const name = equals < 0 ? item : item.slice(0, equals);
    names.push(name.length > maxQueryName ? '…' : name);
  }
  return capped(names.join('&'), maxText);
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly query: string | null;
}

/** A request that was refused before it had one reading: what it seems to ask for, without userinfo. */
function readLeniently(request: RawRequest): Target {
  let rest = request.target;
  let authority = request.authority ?? request.connect ?? request.headers.get('host') ?? request.sni ?? '';
  const scheme = rest.indexOf('://');
  if (scheme > 0 && scheme < 12) {
    const start = scheme + 3;
    const end = rest.slice(start).search(/[/?#]/);
    authority = end < 0 ? rest.slice(start) : rest.slice(start, start + end);
    rest = end < 0 ? '/' : rest.slice(start + end);
  } else if (request.kind !== 'http') {
    authority = rest === '' ? authority : rest;
    rest = '/';
  } else if (!rest.startsWith('/') && rest !== '*') {
    rest = '';
  }
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const port = /:(\d{1,5})$/.exec(host);
  const query = rest.indexOf('?');
  return {
    host: port === null ? host : host.slice(0, port.index),
    port: port === null ? (request.scheme === 'https' ? 443 : 80) : Number(port[1]),
    path: query < 0 ? rest : rest.slice(0, query),
    query: query < 0 ? null : rest.slice(query + 1),
  };
}

let lastMs = -1;
let lastIso = '';

/** Requests come many to the millisecond; formatting a date costs as much as the rest of the record. */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastIso = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastIso;
}

function unchanged(text: string): string {
  return text;
}

function capped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
