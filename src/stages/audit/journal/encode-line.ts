// One record as its line of JSON. Requests are by far the most, and JSON.stringify looks at every key of every one anew:
// their shape is known, so it is written out. What is as it was in the record before is not written out again: requests of one
// sandbox differ in little. A test holds it to JSON.stringify.
import { plainText } from './cap-text.ts';
import type { NoteBody, RecordBody } from './record.ts';

export function encodeLine(seq: number, prev: string, body: RecordBody | NoteBody): string {
  if ('note' in body) return JSON.stringify({ seq, prev, ...body });
  const { time, id, path, query, bytes_in, bytes_out, scrubbed, ms, trail, cut, merged } = body;
  return (
    `{"seq":${seq},"prev":"${prev}","time":"${time}","id":"${id}",${whoAndWhere(body)}"path":${quoted(path)},` +
    `"query":${quoted(query)},${whatCameOfIt(body)}"bytes_in":${bytes_in},"bytes_out":${bytes_out},` +
    `"scrubbed":${scrubbed},${whatItCost(body)}"ms":${ms},"trail":[${steps(trail)}],` +
    `"cut":${quoted(cut)},"merged":${merged === null ? 'null' : JSON.stringify(merged)}}`
  );
}

/** Most texts are plain: then quotes are all they need. */
function quoted(value: string | null): string {
  if (value === null) return 'null';
  return plainText.test(value) ? `"${value}"` : JSON.stringify(value);
}

let lastPlace: RecordBody | null = null;
let lastPlaceText = '';

function whoAndWhere(body: RecordBody): string {
  if (lastPlace !== null && isSamePlace(lastPlace, body)) return lastPlaceText;
  lastPlaceText =
    `"sandbox":${quoted(body.sandbox)},"door":${quoted(body.door)},"from":${quoted(body.from)},` +
    `"proof":${JSON.stringify(body.proof)},"method":${quoted(body.method)},"scheme":"${body.scheme}",` +
    `"host":${quoted(body.host)},"port":${body.port},"destination":${quoted(body.destination)},`;
  lastPlace = body;
  return lastPlaceText;
}

function isSamePlace(last: RecordBody, body: RecordBody): boolean {
  return (
    last.sandbox === body.sandbox &&
    last.door === body.door &&
    last.from === body.from &&
    last.proof === body.proof &&
    last.method === body.method &&
    last.scheme === body.scheme &&
    last.host === body.host &&
    last.port === body.port &&
    last.destination === body.destination
  );
}

let lastOutcome: RecordBody | null = null;
let lastOutcomeText = '';

function whatCameOfIt(body: RecordBody): string {
  if (lastOutcome !== null && isSameOutcome(lastOutcome, body)) return lastOutcomeText;
  lastOutcomeText =
    `"kind":"${body.kind}","git":${quoted(body.git)},"protocol":"${body.protocol}","verdict":"${body.verdict}",` +
    `"status":${body.status},"code":${quoted(body.code)},"rule":${quoted(body.rule)},"reason":${quoted(body.reason)},` +
    `"told":${quoted(body.told)},"hint":${quoted(body.hint)},"credential":${quoted(body.credential)},` +
    `"upstream":${quoted(body.upstream)},`;
  lastOutcome = body;
  return lastOutcomeText;
}

function isSameOutcome(last: RecordBody, body: RecordBody): boolean {
  return (
    last.kind === body.kind &&
    last.git === body.git &&
    last.protocol === body.protocol &&
    last.verdict === body.verdict &&
    last.status === body.status &&
    last.code === body.code &&
    last.rule === body.rule &&
    last.reason === body.reason &&
    last.told === body.told &&
    last.hint === body.hint &&
    last.credential === body.credential &&
    last.upstream === body.upstream
  );
}

const costNothing = '"incident":null,"model":null,"tokens_in":0,"tokens_out":0,"cost_usd":0,"tokens_estimated":false,';

function whatItCost({ incident, model, tokens_in, tokens_out, cost_usd, tokens_estimated }: RecordBody): string {
  const isNothing = tokens_in === 0 && tokens_out === 0 && cost_usd === 0 && !tokens_estimated;
  if (isNothing && incident === null && model === null) return costNothing;
  return (
    `"incident":${quoted(incident)},"model":${quoted(model)},"tokens_in":${tokens_in},"tokens_out":${tokens_out},` +
    `"cost_usd":${cost_usd},"tokens_estimated":${tokens_estimated},`
  );
}

/** Stages and outcomes are names of our own. */
function steps(trail: RecordBody['trail']): string {
  let text = '';
  for (let i = 0; i < trail.length; i++) {
    const [stage, microseconds, outcome] = trail[i]!;
    text += `${i === 0 ? '' : ','}["${stage}",${microseconds},"${outcome}"]`;
  }
  return text;
}
