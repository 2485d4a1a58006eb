// Whether a request goes to a model, and whether its answer will say what it cost. Judged by the allow rules of its host
// (`conversation`) and by the shape of its path, whatever the host is called: providers copy each other's. When in doubt
// it goes to a model: an odd spelling of a path must not be the way around a budget.

import type { HeaderList } from '../../../path/exchange/header-list.ts';
import type { CanonicalRequest } from '../../../path/flow.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';
import { judgedMethods } from '../judged-methods.ts';

/**
 * `answer`: the answer says it, or it is estimated. `retrieval`: what was asked for before is fetched. `unseen`: the cost
 * arises elsewhere or is left out of the answer, in these words.
 */
export type ModelRequest =
  | { readonly kind: 'answer' | 'retrieval' }
  | { readonly kind: 'unseen'; readonly what: string; readonly instead: string };

const reading: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** Paths, in lower case and without a slash at the end, that every compatible service has. */
const talk =
  /\/(?:messages|complete|completions?|responses|responses\/compact|interactions|embeddings|generate|chat|predictions|rerank|converse|converse-stream|invoke|invoke-with-response-stream)$|:(?:stream)?(?:generate|raw)|:(?:embed|batchembed)/;
/** What a background answer or a run is fetched by, or stopped. */
const kept = /\/(?:responses|interactions|runs|deferred-completion)\/[^/]+$/;
const stopped = /\/(?:responses|interactions|runs)\/[^/]+\/cancel$/;
/** Costs nothing: counting, listing, keeping files, logging in. */
const free =
  /\/(?:count_tokens|input_tokens|tokenize|detokenize|moderations|token|tokeninfo|models)$|\/(?:files|uploads|vector_stores|oauth2?|organizations|skills)(?:\/|$)/;
const freeVerbs =
  /:(?:counttokens|computetokens|loadcodeassist|onboarduser|retrieveuserquota|getcodeassistglobalusersetting|recordcodeassistmetrics)$/;
const jobs =
  /\/(?:batches|batch\/jobs|embed-jobs|fine_tuning\/jobs|evals|videos(?:\/[^/]+){0,2}|batchpredictionjobs|model-invocation-jobs?|async-invoke)$|\/evals\/[^/]+\/runs$|:asyncbatch|:batch(?!embed)|:predictlongrunning|\/async\//;
/** A call of Google's, whose answers can be had in part or in another form. */
const verb = /:[a-z]+$/;

/** Null: not a model's. `hasCredential`: one of ours goes with it. */
export function modelRequest(
  policy: CompiledPolicy,
  canonical: CanonicalRequest,
  headers: HeaderList,
  hasCredential: boolean,
): ModelRequest | null {
  const { kind } = canonical;
  if (kind !== 'http' && kind !== 'websocket') return null;
  if (!policy.rulesFor(canonical.host).some(({ conversation }) => conversation)) return null;
  const path = plainPath(canonical.path);
  const asks = kind === 'websocket' || judgedMethods(canonical.method, headers).some((method) => !reading.has(method));
  if (!asks) return canonical.method === 'GET' && kept.test(path) ? { kind: 'retrieval' } : null;
  if (stopped.test(path)) return { kind: 'retrieval' };
  if (jobs.test(path)) return job;
  if (verb.test(path)) return freeVerbs.test(path) ? null : (partial(canonical, headers) ?? { kind: 'answer' });
  if (talk.test(path)) return { kind: 'answer' };
  // What it is, nobody knows; without a credential of ours it costs nobody anything.
  return free.test(path) || !hasCredential ? null : { kind: 'answer' };
}

/** As a lenient server would read it. */
function plainPath(path: string): string {
  return path
    .toLowerCase()
    .replaceAll(/;[^/]*/g, '')
    .replace(/[/\s]+$/, '');
}

const job: ModelRequest = {
  kind: 'unseen',
  what: 'starts work whose cost no answer to it says',
  instead: 'Ask the model directly.',
};

const jsonForms: ReadonlySet<string> = new Set(['json', 'sse']);

/** Parameters that Google's services take, with and without a `$`. */
function partial({ query }: CanonicalRequest, headers: HeaderList): ModelRequest | null {
  let found = headers.has('x-goog-fieldmask') ? 'X-Goog-FieldMask' : null;
  // Some parsers take a semicolon for an ampersand.
  for (const [name, value] of new URLSearchParams(query?.replaceAll(';', '&'))) {
    const plain = name.toLowerCase().replace(/^\$/, '');
    if (plain === 'fields' || plain === 'callback') found = name;
    if (plain === 'alt' && !jsonForms.has(value.toLowerCase())) found = name;
  }
  if (found === null) return null;
  return {
    kind: 'unseen',
    what: `asks by ${found} for an answer that does not say what it costs`,
    instead: `Leave ${found} out.`,
  };
}
