// A record that another process of this gateway has made, read before it becomes a line of the journal: every field and no
// other, of its own type. What is written out without quotes or escapes there must be a plain word here.
import { maxRecordBytes, type RecordBody } from './record.ts';

type Kind = 'word' | 'text' | 'text or null' | 'number' | 'yes or no' | 'words' | 'trail' | 'null';

/** One for every field, so that none can be added without its kind. */
const fields: { readonly [F in keyof RecordBody]-?: Kind } = {
  time: 'word',
  id: 'word',
  sandbox: 'text or null',
  door: 'text',
  from: 'text or null',
  proof: 'words',
  method: 'text',
  scheme: 'word',
  host: 'text',
  port: 'number',
  destination: 'text or null',
  path: 'text',
  query: 'text or null',
  kind: 'word',
  git: 'text or null',
  protocol: 'word',
  verdict: 'word',
  status: 'number',
  code: 'text or null',
  rule: 'text or null',
  reason: 'text or null',
  told: 'text or null',
  hint: 'text or null',
  credential: 'text or null',
  upstream: 'text or null',
  bytes_in: 'number',
  bytes_out: 'number',
  scrubbed: 'number',
  incident: 'text or null',
  model: 'text or null',
  tokens_in: 'number',
  tokens_out: 'number',
  cost_usd: 'number',
  tokens_estimated: 'yes or no',
  ms: 'number',
  trail: 'trail',
  cut: 'text or null',
  // Only the process that writes the journal counts refusals together.
  merged: 'null',
};

const names = Object.keys(fields) as (keyof RecordBody)[];
/** The longest that a field is capped to, see record.ts. */
const maxText = 1024;
const word = /^[\w.:/ -]{0,128}$/;

/** Throws at anything that is no record. */
export function readRecord(value: unknown): RecordBody {
  if (typeof value !== 'object' || value === null) throw new Error('a record is no object');
  const record = value as Readonly<Record<string, unknown>>;
  for (const name of names) {
    if (!fits(fields[name], record[name])) throw new Error(`the field ${name} of a record is not what it should be`);
  }
  let length = 0;
  for (const value of Object.values(record)) if (typeof value === 'string') length += value.length;
  if (length > maxRecordBytes) throw new Error('a record is longer than any');
  // The same fields in the same order, whatever came: the journal has one shape.
  if (Object.keys(record).length !== names.length) throw new Error('a record has a field that is not known');
  return value as RecordBody;
}

function fits(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'word':
      return typeof value === 'string' && word.test(value);
    case 'text':
      return typeof value === 'string' && value.length <= maxText;
    case 'text or null':
      return value === null || (typeof value === 'string' && value.length <= maxText);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'yes or no':
      return typeof value === 'boolean';
    case 'words':
      return Array.isArray(value) && value.length <= 16 && value.every((one) => fits('word', one));
    case 'null':
      return value === null;
    case 'trail':
      return Array.isArray(value) && value.length <= 64 && value.every(isStep);
  }
}

function isStep(step: unknown): boolean {
  if (!Array.isArray(step) || step.length !== 3) return false;
  const [stage, microseconds, outcome] = step as unknown[];
  return fits('word', stage) && fits('number', microseconds) && fits('word', outcome);
}
