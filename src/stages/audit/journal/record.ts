// The audit record: one flat object of constant shape per request, built from a flow and how it ended. What the
// sandbox sent as header values, query values or bodies never enters it; the operator's own causes do, masked.

import { maskText } from '../../../kit/mask-text.ts';
import type { Arrived, Forwarded, RawRequest } from '../../../path/flow.ts';
import { isPlainConnection } from '../../../path/passes-unread.ts';
import type { Refusal } from '../../../path/refusal.ts';
import type { Step } from '../../../path/trail.ts';
import { TextCaps } from './cap-text.ts';

export type RecordedVerdict = 'allowed' | 'refused' | 'failed' | 'abandoned';

export interface RecordedOutcome {
  readonly verdict: RecordedVerdict;
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
  /** Decoded path, at most 1 KiB as it is written. */
  readonly path: string;
  /** Names of the query parameters, joined by `&`; null without a query. */
  readonly query: string | null;
  readonly kind: string;
  /** What git asked for: operation, repository, and of a push its refs; null for anything else. */
  readonly git: string | null;
  readonly protocol: string;
  readonly verdict: RecordedVerdict;
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
  /** Which texts were too long to be written whole, with their length and a hash of all of it; null: none. */
  readonly cut: string | null;
  /** This record stands for many refusals like it; null: for one request, as all that were served do. */
  readonly merged: Merged | null;
}

export interface Merged {
  readonly count: number;
  /** When the first and the last of them came. */
  readonly first: string;
  readonly last: string;
  /** What some of them asked for, shortened. */
  readonly samples: readonly string[];
}

/** What the journal says that is no request: of itself (a recovery, records that could not be kept), or of people. */
export type NoteBody = OwnNote | LetGoNote | CondensedNote | WorkerNote | ApprovalNoteBody;

export interface OwnNote {
  readonly time: string;
  readonly note: 'recovered' | 'lost';
  readonly text: string;
  /** Bytes cut off, or records lost. */
  readonly count: number;
}

/** Retention removes the oldest files when this is written. All that ever went, so that the last of these says everything. */
export interface LetGoNote {
  readonly time: string;
  readonly note: 'let-go';
  readonly text: string;
  /** Records. */
  readonly count: number;
  readonly files: number;
  readonly bytes: number;
  /** When the oldest of them was written, and when the newest; null: nobody noted it. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Where the journal of a worker stood, in the chain of the gateway: one that is taken away or rolled back is missed. */
export interface WorkerNote {
  readonly time: string;
  readonly note: 'worker';
  readonly text: string;
  readonly worker: number;
  /** The number of its last record, and the hash of that; 0: it had none. */
  readonly count: number;
  readonly hash: string;
  /** Retention has let all of it go: the gateway has no such worker any more. */
  readonly gone: boolean;
}

/** What a sandbox was refused beyond its share of the journal: how much, and a sample. */
export interface CondensedNote {
  readonly time: string;
  readonly note: 'condensed';
  readonly text: string;
  /** Refusals. */
  readonly count: number;
  /** What their records would have taken. */
  readonly bytes: number;
  /** Null: of all callers that nobody knows, together. */
  readonly sandbox: string | null;
  readonly first: string;
  readonly last: string;
  readonly codes: Readonly<Record<string, number>>;
  readonly samples: readonly string[];
}

/** What a person answered, or that nobody did; an approval that was ended; a sandbox that began to learn. */
export interface ApprovalNoteBody {
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

/** In bytes of JSON. With what is ours (names of fields, link, trail) a record stays below `maxRecordBytes`. */
const most = {
  short: 64,
  name: 256,
  path: 1024,
  query: 512,
  git: 1024,
  reason: 1024,
  told: 768,
  hint: 1024,
  model: 80,
} as const;

/** No line of the journal is longer; the longest of a request that was served has half of it. */
export const maxRecordBytes = 8192;

/** A longer path is written once: where a reason or a hint quotes it, it says this. */
const pathAgain = '{path}';
const longPath = 48;
/** A longer "name" is more likely a value without its name. */
const maxQueryName = 32;

/**
 * The flow as far as it came: stages add what they learn to the one object. `clean` takes out of a text what must not be
 * written down: a sandbox that has found a credential may send it as a path. It comes first: half of one is not found.
 */
export function describeFlow(
  flow: Arrived & Partial<Forwarded>,
  outcome: RecordedOutcome,
  clean: (text: string) => string = unchanged,
): RecordBody {
  const { request, exchange, canonical, sandbox, permission, used } = flow;
  const target = canonical ?? readLeniently(request);
  const { refusal } = outcome;
  const caps = new TextCaps();
  const path = clean(target.path);
  const quoting = (name: string, text: string, max: number): string => {
    const once = path.length > longPath ? text.replaceAll(path, pathAgain) : text;
    return caps.cap(name, once, max);
  };
  return {
    time: isoTime(flow.arrivedAt),
    id: flow.requestId,
    // Whatever comes through a door of one sandbox comes from it, also what was refused before anybody asked who it is.
    sandbox: sandbox === undefined ? flow.caller.socketOf : sandbox.id,
    door: flow.caller.door,
    from: flow.caller.address,
    proof: sandbox === undefined ? [] : sandbox.proof,
    method: caps.cap('method', clean(request.method), most.short),
    scheme: isPlainConnection(request.kind) ? 'tcp' : request.scheme,
    host: caps.cap('host', clean(target.host), most.name),
    port: target.port,
    destination: request.destination,
    path: caps.cap('path', path, most.path),
    query: target.query === null ? null : caps.cap('query', queryNames(clean(target.query)), most.query),
    kind: canonical === undefined ? request.kind : canonical.kind,
    git: flow.asked === undefined ? null : caps.cap('git', clean(flow.asked), most.git),
    protocol: request.protocol,
    verdict: outcome.verdict,
    status: outcome.status,
    code: codeOf(outcome),
    rule: ruleOf(refusal?.rule ?? permission?.rule ?? null, caps),
    reason:
      refusal === null && outcome.error == null
        ? null
        : quoting('reason', clean(explain(refusal ?? outcome.error)), most.reason),
    told: refusal === null ? null : quoting('told', clean(refusal.message), most.told),
    hint: refusal === null ? null : quoting('hint', clean(refusal.hint), most.hint),
    credential: flow.injected ?? null,
    upstream: flow.upstreamAddress ?? null,
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    scrubbed: (flow.renewed ?? flow.outgoing)?.scrub?.replaced ?? 0,
    incident: flow.incident === undefined ? null : caps.cap('incident', flow.incident, most.name),
    model: used === undefined || used.model === null ? null : caps.cap('model', clean(used.model), most.model),
    tokens_in: used === undefined ? 0 : used.tokensIn,
    tokens_out: used === undefined ? 0 : used.tokensOut,
    cost_usd: used === undefined ? 0 : used.microDollars / 1_000_000,
    tokens_estimated: used?.isEstimated === true,
    ms: Math.round((performance.now() - flow.trail.startedMs) * 100) / 100,
    trail: flow.trail.steps,
    cut: caps.describe(),
    merged: null,
  };
}

/** A client that went away was not refused, and nothing failed. */
function codeOf({ refusal, error, verdict }: RecordedOutcome): string | null {
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
  return names.join('&');
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

function ruleOf(rule: string | null, caps: TextCaps): string | null {
  return rule === null ? null : caps.cap('rule', rule, most.name);
}

/** A text of a record as it was said, with the path where it was. */
export function quotingPath(text: string, { path }: Pick<RecordBody, 'path'>): string {
  return path.length > longPath ? text.replaceAll(pathAgain, () => path) : text;
}
