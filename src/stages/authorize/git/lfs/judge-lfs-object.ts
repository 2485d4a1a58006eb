// A request under an address that this door handed out: good for the sandbox, place, object, method and time it was made
// for, and for nothing else. Objects are streamed, in both directions. Never tells what was wrong with a ticket.

import * as z from 'zod';
import { enrich } from '../../../../path/enrich.ts';
import type { Framing } from '../../../../path/exchange/exchange.ts';
import { addWrapper, payloadExchange } from '../../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import { granted } from '../../../../path/stamps/granted.ts';
import { readLfsBody, withLfsBody } from './lfs-body.ts';
import { badTicket, notLfs } from './lfs-refusals.ts';
import type { LfsAction, LfsGrant, LfsTickets } from './lfs-tickets.ts';
import { storageAnswer } from './storage-answer.ts';

const methods: Record<LfsAction, string> = { download: 'GET', upload: 'PUT', verify: 'POST' };
const maxVerifyBytes = 64 * 1024;
const anyObject = z.object({});

export function judgeLfsObject(
  flow: Identified,
  permission: Permission,
  tickets: LfsTickets,
): Promise<Authorized> | Authorized {
  const grant = tickets.find(permission.git!.ticket ?? '');
  // Another gateway may have issued it.
  if (grant instanceof Promise) return grant.then((found) => judgeGranted(flow, permission, found));
  return judgeGranted(flow, permission, grant);
}

function judgeGranted(
  flow: Identified,
  permission: Permission,
  grant: LfsGrant | null,
): Promise<Authorized> | Authorized {
  if (grant === null || !isGoodFor(grant, flow, permission)) throw badTicket();
  const { action, oid, size, repository } = grant;
  enrich(flow, { asked: `lfs-object ${repository} ${action} ${oid} (${size} bytes)` });
  if (action === 'verify') return confirm(flow, permission, grant);
  checkFraming(flow.exchange.requestFraming, action, size);
  payloadExchange(flow);
  const { host } = flow.canonical;
  addWrapper(flow, 'rewritten', (inner) => storageAnswer(inner, action, host));
  return enrich(flow, { permission: granted(permission) });
}

function isGoodFor(grant: LfsGrant, { sandbox, canonical }: Identified, { git }: Permission): boolean {
  return (
    grant.sandboxId === sandbox.id &&
    grant.sandboxSince === sandbox.createdAt &&
    grant.host === canonical.host &&
    grant.port === canonical.port &&
    grant.repository === git!.repository &&
    methods[grant.action] === canonical.method &&
    grant.expiresAt > Date.now()
  );
}

function checkFraming(framing: Framing, action: LfsAction, size: number): void {
  if (action === 'download' && framing.kind !== 'none') throw notLfs('a GET has no body');
  if (action === 'upload' && (framing.kind !== 'length' || framing.bytes !== size)) {
    throw notLfs(`this object has ${size} bytes, and Content-Length must say so`);
  }
}

/** Only what was granted is confirmed, whatever the sandbox wrote. */
async function confirm(flow: Identified, permission: Permission, { oid, size }: LfsGrant): Promise<Authorized> {
  await readLfsBody(flow, anyObject, maxVerifyBytes);
  const { host } = flow.canonical;
  const sent = withLfsBody(flow, permission, { oid, size });
  return addWrapper(sent, 'rewritten', (inner) => storageAnswer(inner, 'verify', host));
}
