// One record as its line of JSON. Requests are by far the most, and JSON.stringify looks at every key of every one anew:
// their shape is known, so it is written out. A test holds it to JSON.stringify.
import type { NoteBody, RecordBody } from './record.ts';

/** Filled and joined for every record: pieces added to a string one by one would each be an object to collect. */
const pieces: (string | number)[] = [];

export function encodeLine(seq: number, prev: string, body: RecordBody | NoteBody): string {
  if ('note' in body) return JSON.stringify({ seq, prev, ...body });
  pieces.length = 0;
  pieces.push('{"seq":', seq, ',"prev":"', prev, '","time":"', body.time, '","id":"', body.id, '","sandbox":');
  addText(body.sandbox);
  pieces.push(',"door":');
  addText(body.door);
  pieces.push(',"proof":', JSON.stringify(body.proof), ',"method":');
  addText(body.method);
  pieces.push(',"scheme":"', body.scheme, '","host":');
  addText(body.host);
  pieces.push(',"port":', body.port, ',"path":');
  addText(body.path);
  pieces.push(',"query":');
  addText(body.query);
  pieces.push(',"kind":"', body.kind, '","protocol":"', body.protocol, '","verdict":"', body.verdict, '","status":');
  pieces.push(body.status, ',"code":');
  addText(body.code);
  pieces.push(',"rule":');
  addText(body.rule);
  pieces.push(',"reason":');
  addText(body.reason);
  pieces.push(',"credential":');
  addText(body.credential);
  pieces.push(',"upstream":');
  addText(body.upstream);
  pieces.push(',"bytes_in":', body.bytes_in, ',"bytes_out":', body.bytes_out, ',"ms":', body.ms, ',"trail":[');
  addTrail(body.trail);
  pieces.push(']}');
  return pieces.join('');
}

const plain = /^[ !#-[\]-~]*$/;

/** Most texts are plain: then quotes are all they need. */
function addText(value: string | null): void {
  if (value === null) pieces.push('null');
  else if (plain.test(value)) pieces.push('"', value, '"');
  else pieces.push(JSON.stringify(value));
}

/** Stages and outcomes are names of our own. */
function addTrail(steps: RecordBody['trail']): void {
  for (let i = 0; i < steps.length; i++) {
    const [stage, microseconds, outcome] = steps[i]!;
    pieces.push(i === 0 ? '["' : ',["', stage, '",', microseconds, ',"', outcome, '"]');
  }
}
