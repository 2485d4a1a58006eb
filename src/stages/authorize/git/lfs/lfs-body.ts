// The body of a request of git-lfs: small, JSON, read whole and taken apart. What goes on is written anew from what was
// understood, so that the server cannot read anything else in it than the rules did (a key that stands there twice).
import type { z } from 'zod';
import { enrich } from '../../../../path/enrich.ts';
import { withBytes } from '../../../../path/exchange/replaced-body.ts';
import { readWholeBody } from '../../../../path/exchange/whole-body.ts';
import { addWrapper, payloadExchange } from '../../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import { Refusal } from '../../../../path/refusal.ts';
import { granted } from '../../../../path/stamps/granted.ts';
import { withBodyOf, withoutOwnProof } from '../git-head.ts';
import { notLfs } from './lfs-refusals.ts';

export const lfsContentType = 'application/vnd.git-lfs+json';
const contentType = /^application\/vnd\.git-lfs\+json(?:; ?charset=utf-8)?$/i;

/** Reads the body of `flow`, which has it taken out from then on. */
export async function readLfsBody<Schema extends z.ZodType>(
  flow: Identified,
  schema: Schema,
  maxBytes: number,
): Promise<z.output<Schema>> {
  const { headers } = flow.request;
  const types = headers.getAll('content-type');
  if (types.length !== 1 || !contentType.test(types[0]!)) throw notLfs(`Content-Type must be ${lfsContentType}`);
  if (headers.has('content-encoding')) throw notLfs('its body may not be compressed');
  const body = await readWholeBody(payloadExchange(flow), maxBytes);
  if (body === null) throw tooLarge(maxBytes);
  const read = schema.safeParse(jsonOf(body));
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  throw notLfs(`${path.join('.') || 'the body'}: ${message}`);
}

/** The flow, granted, with `body` in place of what the sandbox sent. */
export function withLfsBody(flow: Identified, permission: Permission, body: object): Authorized {
  const bytes = Buffer.from(JSON.stringify(body));
  addWrapper(flow, 'replaced', (inner) => withBytes(inner, bytes));
  return enrich(flow, {
    permission: granted(permission),
    // Compressed, the answer could not be read on its way back.
    judgedFields: withBodyOf(withoutOwnProof(flow.request, ['accept-encoding']), bytes.length),
  });
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw notLfs('the body is not JSON');
  }
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('limit.body-size', `a git-lfs request of this kind may have at most ${maxBytes} bytes`, {
    rule: 'built-in: bounded LFS requests',
    hint: 'Ask for fewer objects at a time.',
  });
}
