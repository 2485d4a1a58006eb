// One record as its line of JSON. Requests are by far the most, and JSON.stringify looks at every key of every one anew:
// their shape is known, so it is written out. A test holds it to JSON.stringify.
import { plainText } from './cap-text.ts';
import type { NoteBody, RecordBody } from './record.ts';

/** Filled and joined for every record: pieces added to a string one by one would each be an object to collect. */
const pieces: (string | number)[] = [];
let count = 0;

export function encodeLine(seq: number, prev: string, body: RecordBody | NoteBody): string {
  if ('note' in body) return JSON.stringify({ seq, prev, ...body });
  count = 0;
  add('{"seq":');
  add(seq);
  add(',"prev":"');
  add(prev);
  add('","time":"');
  add(body.time);
  add('","id":"');
  add(body.id);
  add('","sandbox":');
  addText(body.sandbox);
  add(',"door":');
  addText(body.door);
  add(',"from":');
  addText(body.from);
  add(',"proof":');
  add(JSON.stringify(body.proof));
  add(',"method":');
  addText(body.method);
  add(',"scheme":"');
  add(body.scheme);
  add('","host":');
  addText(body.host);
  add(',"port":');
  add(body.port);
  add(',"destination":');
  addText(body.destination);
  add(',"path":');
  addText(body.path);
  add(',"query":');
  addText(body.query);
  add(',"kind":"');
  add(body.kind);
  add('","git":');
  addText(body.git);
  add(',"protocol":"');
  add(body.protocol);
  add('","verdict":"');
  add(body.verdict);
  add('","status":');
  add(body.status);
  add(',"code":');
  addText(body.code);
  add(',"rule":');
  addText(body.rule);
  add(',"reason":');
  addText(body.reason);
  add(',"told":');
  addText(body.told);
  add(',"hint":');
  addText(body.hint);
  add(',"credential":');
  addText(body.credential);
  add(',"upstream":');
  addText(body.upstream);
  add(',"bytes_in":');
  add(body.bytes_in);
  add(',"bytes_out":');
  add(body.bytes_out);
  add(',"scrubbed":');
  add(body.scrubbed);
  add(',"incident":');
  addText(body.incident);
  add(',"model":');
  addText(body.model);
  add(',"tokens_in":');
  add(body.tokens_in);
  add(',"tokens_out":');
  add(body.tokens_out);
  add(',"cost_usd":');
  add(body.cost_usd);
  add(body.tokens_estimated ? ',"tokens_estimated":true' : ',"tokens_estimated":false');
  add(',"ms":');
  add(body.ms);
  add(',"trail":[');
  addTrail(body.trail);
  add('],"cut":');
  addText(body.cut);
  add(',"merged":');
  add(body.merged === null ? 'null' : JSON.stringify(body.merged));
  add('}');
  // Not emptied first: an array that is emptied gives its store away and grows anew.
  pieces.length = count;
  return pieces.join('');
}

function add(piece: string | number): void {
  pieces[count++] = piece;
}

/** Most texts are plain: then quotes are all they need. */
function addText(value: string | null): void {
  if (value === null) add('null');
  else if (plainText.test(value)) {
    add('"');
    add(value);
    add('"');
  } else add(JSON.stringify(value));
}

/** Stages and outcomes are names of our own. */
function addTrail(steps: RecordBody['trail']): void {
  for (let i = 0; i < steps.length; i++) {
    const [stage, microseconds, outcome] = steps[i]!;
    add(i === 0 ? '["' : ',["');
    add(stage);
    add('",');
    add(microseconds);
    add(',"');
    add(outcome);
    add('"]');
  }
}
