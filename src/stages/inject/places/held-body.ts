// A request body that is read whole because the credential goes into it or signs it: bounded, and in the room that a sandbox has.
import type { Exchange } from '../../../path/exchange/exchange.ts';
import type { HeaderList } from '../../../path/exchange/header-list.ts';
import { withBytes } from '../../../path/exchange/replaced-body.ts';
import { readWholeBody } from '../../../path/exchange/whole-body.ts';
import { addWrapper, payloadExchange, wrappedExchange } from '../../../path/exchange/wrappers.ts';
import type { Authorized } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import { reveal, type Secret } from '../../../path/secret.ts';
import type { CredentialSpec, Injection } from '../../../policy/compiled.ts';
import { inReadingRoom } from '../reading-room.ts';
import { asWritten, fillBody, tooLarge } from './body-place.ts';
import { signatureFields } from './body-signature.ts';
import { noPlace } from './no-place.ts';
import { noteWritten } from './written-form.ts';

export type HeldInjection = Extract<Injection, { readonly kind: 'json' | 'form' | 'hmac' }>;

export function readsBody(injection: Injection): injection is HeldInjection {
  return injection.kind === 'json' || injection.kind === 'form' || injection.kind === 'hmac';
}

/** What describes the bytes of a body: written anew, or no longer true. */
const ofTheBody: ReadonlySet<string> = new Set([
  'content-length',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
  'trailer',
]);

interface Prepared {
  readonly body: Buffer;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

interface HeldOptions {
  readonly maxBytes: number;
  /** Told of the form in which the credential is written. */
  readonly note: ((secret: Secret) => void) | undefined;
}

/** Reads the body of `flow`, puts the credential where it goes, and lets the request go out with it. */
export async function holdBody(
  flow: Authorized,
  spec: CredentialSpec,
  injection: HeldInjection,
  headers: HeaderList,
  secret: Secret,
  { maxBytes, note }: HeldOptions,
): Promise<HeaderList> {
  const hasBody = wrappedExchange(flow).requestFraming.kind !== 'none';
  const read = hasBody ? await readBody(flow, spec.name, payloadExchange(flow), maxBytes) : null;
  const value = reveal(secret);
  if (injection.kind !== 'hmac') noteWritten(note, secret, asWritten(injection, value));
  const { body, fields } = prepare(flow, spec, injection, read, value);
  // Trailers are gone with the framing that they came in.
  const out = headers.without((key) => ofTheBody.has(key));
  if (read !== null) {
    out.append('Content-Length', String(body.length));
    addWrapper(flow, 'filled', (inner) => withBytes(inner, body));
  }
  for (const [name, value] of fields) out.append(name, value);
  return out;
}

/** The same for `sallyport check`: whether there is a place for it. Sends nothing. */
export async function tryBody(
  flow: Authorized,
  exchange: Exchange,
  spec: CredentialSpec,
  injection: HeldInjection,
  maxBytes: number,
): Promise<void> {
  const read = exchange.requestFraming.kind === 'none' ? null : await readBody(flow, spec.name, exchange, maxBytes);
  prepare(flow, spec, injection, read, '');
}

function prepare(
  flow: Authorized,
  spec: CredentialSpec,
  injection: HeldInjection,
  read: Buffer | null,
  value: string,
): Prepared {
  if (flow.canonical.kind === 'websocket') throw noPlace(spec.name, 'a WebSocket has no body', 'Send a plain request.');
  if (injection.kind === 'hmac') {
    const body = read ?? Buffer.alloc(0);
    return { body, fields: signatureFields(injection.hmac, value, body, Date.now()) };
  }
  if (read === null) {
    const where = injection.kind === 'json' ? injection.shown : `the field ${injection.field}`;
    throw noPlace(
      spec.name,
      `it goes into ${where} of a body, and there is none`,
      'Send one, or let the operator limit the credential with paths.',
    );
  }
  return { body: fillBody(flow, spec, injection, read, value), fields: [] };
}

async function readBody(flow: Authorized, name: string, exchange: Exchange, maxBytes: number): Promise<Buffer> {
  const { requestFraming } = exchange;
  const most = requestFraming.kind === 'length' ? Math.min(requestFraming.bytes, maxBytes) : maxBytes;
  const body = await inReadingRoom(flow.sandbox.id, most, tooMany, () => readWholeBody(exchange, maxBytes));
  if (body === null) throw tooLarge(name, maxBytes);
  return body;
}

function tooMany(): Refusal {
  return new Refusal('limit.concurrent', 'too many request bodies wait for a credential', {
    rule: 'secrets.injected_body_bytes',
    hint: 'Send fewer at a time.',
    retryAfterSeconds: 1,
  });
}
