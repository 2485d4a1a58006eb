// A credential that goes into a field of the body: JSON or a form. The body is read up to a bound, one value is exchanged and
// every other byte stays. Strict: what two servers could read in two ways has no place for a credential.
import { fieldsToSend } from '../../../path/enrich.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { CredentialSpec, Injection } from '../../../policy/compiled.ts';
import { findJsonPlace, UnreadableJson } from '../../../protocols/json/json-place.ts';
import { noPlace } from './no-place.ts';

export type BodyInjection = Extract<Injection, { readonly kind: 'json' | 'form' }>;

/** The body with `value` in its place. Throws a Refusal. */
export function fillBody(
  flow: Authorized,
  spec: CredentialSpec,
  injection: BodyInjection,
  body: Buffer,
  value: string,
): Buffer {
  checkForm(flow, spec.name, injection);
  const text = textOf(body);
  if (text === null) throw noPlace(spec.name, 'its body is not UTF-8', 'Send it in UTF-8.');
  return Buffer.from(
    injection.kind === 'json'
      ? fillJson(spec.name, injection, text, value)
      : fillForm(spec.name, injection.field, text, asWritten(injection, value)),
  );
}

/** Without what stands around it. */
export function asWritten({ kind }: BodyInjection, value: string): string {
  return kind === 'json' ? JSON.stringify(value).slice(1, -1) : encodeURIComponent(value);
}

function checkForm(flow: Authorized, name: string, { kind }: BodyInjection): void {
  const headers = fieldsToSend(flow);
  if (headers.has('content-encoding')) {
    throw noPlace(name, 'its body is compressed', 'Send the body as it is, without Content-Encoding.');
  }
  const types = headers.getAll('content-type');
  const [type = ''] = types;
  const wanted =
    kind === 'json' ? /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i : /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
  const charset = /;\s*charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8';
  if (types.length === 1 && wanted.test(type.trim()) && /^(?:utf-?8|us-ascii)$/i.test(charset)) return;
  const form = kind === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  throw noPlace(
    name,
    `it goes into a body of the type ${form}`,
    `Send such a body, or let the operator limit the credential with paths.`,
  );
}

function fillJson(
  name: string,
  injection: Extract<BodyInjection, { kind: 'json' }>,
  text: string,
  value: string,
): string {
  const { pointer, shown } = injection;
  let place: ReturnType<typeof findJsonPlace>;
  try {
    place = findJsonPlace(text, pointer);
  } catch (error) {
    if (!(error instanceof UnreadableJson)) throw error;
    throw noPlace(name, `its body cannot be read in one way only: ${error.message}`, 'Send JSON that is plain.');
  }
  if (place === null) throw noPlace(name, `its body has no ${shown}`, `Send what ${shown} is in.`);
  const { found, start, end, hasOthers } = place;
  if (found === 'other') throw noPlace(name, `${shown} of its body is no text`, 'Send a text there.');
  const written = `"${asWritten(injection, value)}"`;
  const filled = found === null ? `${JSON.stringify(pointer.at(-1))}:${written}${hasOthers ? ',' : ''}` : written;
  return `${text.slice(0, start)}${filled}${text.slice(end)}`;
}

function fillForm(name: string, field: string, text: string, written: string): string {
  const parts = text === '' ? [] : text.split('&');
  // Guards: threats.md T112. Some servers part at `;` as well.
  const named = parts.filter((part) => part.split(';').some((piece) => nameOf(piece) === field));
  if (named.length > 1 || (named.length === 1 && named[0]!.includes(';'))) {
    throw noPlace(name, `the field ${field} is there more than once`, 'Send it once.');
  }
  const filled = `${encodeURIComponent(field)}=${written}`;
  if (named.length === 0) return [...parts, filled].join('&');
  return parts.map((part) => (part === named[0] ? filled : part)).join('&');
}

/** As servers read it: decoded once, a plus sign as a space, blanks around it not part of it. */
function nameOf(piece: string): string {
  const end = piece.indexOf('=');
  const raw = (end < 0 ? piece : piece.slice(0, end)).replaceAll('+', ' ');
  const bytes = raw.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').trim();
}

function textOf(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return null;
  }
}

export function tooLarge(name: string, maxBytes: number): Refusal {
  return new Refusal('limit.body-size', `the credential ${name} goes with a body of at most ${maxBytes} bytes`, {
    rule: 'secrets.injected_body_bytes',
    hint: 'Send less at a time, or let the operator raise secrets.injected_body_bytes.',
  });
}
