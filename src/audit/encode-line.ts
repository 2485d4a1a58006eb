// One record as its line of JSON. Requests are by far the most, and JSON.stringify looks at every key of every one anew:
// their shape is known, so it is written out. A test holds it to JSON.stringify.
import type { NoteBody, RecordBody } from './record.ts';

export function encodeLine(seq: number, prev: string, body: RecordBody | NoteBody): string {
  const link = `{"seq":${seq},"prev":"${prev}",`;
  if ('note' in body) return `${link}${JSON.stringify(body).slice(1)}`;
  return `${link}"time":"${body.time}","id":"${body.id}","sandbox":${text(body.sandbox)},"door":${text(body.door)},\
"proof":${JSON.stringify(body.proof)},"method":${text(body.method)},"scheme":"${body.scheme}","host":${text(body.host)},\
"port":${body.port},"path":${text(body.path)},"query":${text(body.query)},"kind":"${body.kind}",\
"protocol":"${body.protocol}","verdict":"${body.verdict}","status":${body.status},"code":${text(body.code)},\
"rule":${text(body.rule)},"reason":${text(body.reason)},"credential":${text(body.credential)},\
"upstream":${text(body.upstream)},"bytes_in":${body.bytes_in},"bytes_out":${body.bytes_out},"ms":${body.ms},\
"trail":${trail(body.trail)}}`;
}

const plain = /^[ !#-[\]-~]*$/;

/** Most texts are plain: then quotes are all they need. */
function text(value: string | null): string {
  if (value === null) return 'null';
  return plain.test(value) ? `"${value}"` : JSON.stringify(value);
}

/** Stages and outcomes are names of our own. */
function trail(steps: RecordBody['trail']): string {
  let list = '';
  for (const [stage, ms, outcome] of steps) list += `${list === '' ? '' : ','}["${stage}",${ms},"${outcome}"]`;
  return `[${list}]`;
}
