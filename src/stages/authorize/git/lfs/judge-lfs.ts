// Judges a request of git-lfs: whether the operation is allowed in this repository, and for whom a ticket is good.
import * as z from 'zod';
import { enrich } from '../../../../path/enrich.ts';
import type { BodyWriter, Exchange, Framing, ResponseHead } from '../../../../path/exchange/exchange.ts';
import { ExchangeView } from '../../../../path/exchange/exchange-view.ts';
import type { HeaderList } from '../../../../path/exchange/header-list.ts';
import { type AnswerRewriter, RewrittenAnswer } from '../../../../path/exchange/rewritten-answer.ts';
import { addWrapper, payloadExchange } from '../../../../path/exchange/wrappers.ts';
import type { Authorized, Identified, Permission } from '../../../../path/flow.ts';
import { granted } from '../../../../path/stamps/granted.ts';
import type { CompiledPolicy } from '../../../../policy/compiled.ts';
import { withoutOwnProof } from '../git-head.ts';
import { judgeLfsBatch, lfsRef } from './judge-lfs-batch.ts';
import { lfsContentType, readLfsBody, withLfsBody } from './lfs-body.ts';
import { requirePushRights } from './lfs-push-rights.ts';
import { badTicket, notAllowed, notLfs, unsafeLfsAnswer } from './lfs-refusals.ts';
import type { LfsAction, LfsGrant, LfsTickets } from './lfs-tickets.ts';

export function judgeLfs(
  flow: Identified,
  permission: Permission,
  policy: CompiledPolicy,
  tickets: LfsTickets,
): Promise<Authorized> | Authorized {
  const { kind, scheme } = flow.canonical;
  if (kind !== 'http') throw notLfs('it does not switch protocols');
  if (scheme !== 'https') {
    // The answer would show what opens the storage to everybody on the way.
    throw notAllowed('LFS is served over https only', 'built-in: LFS over https', 'Use the https address.');
  }
  switch (permission.git!.operation) {
    case 'lfs-batch':
      return judgeLfsBatch(flow, permission, policy, tickets);
    case 'lfs-object':
      return judgeLfsObject(flow, permission, tickets);
    case 'lfs-locks':
      return listLocks(flow, permission);
    case 'lfs-verify-locks':
      return verifyLocks(flow, permission);
    case 'lfs-lock':
      return takeLock(flow, permission, policy);
    case 'lfs-unlock':
      return giveBackLock(flow, permission, policy);
    default:
      throw notLfs('its address is not one of LFS');
  }
}

// Locks of LFS files. Everybody who may read the repository may see them; taking and giving back one needs push rights;
// breaking somebody else's is never let through.
const maxBodyBytes = 64 * 1024;

const verifyRequest = z.object({
  cursor: z.string().max(1024).nullish(),
  limit: z.int().nonnegative().nullish(),
  ref: lfsRef,
});
const lockRequest = z.object({ path: z.string().min(1).max(4096), ref: lfsRef });
const unlockRequest = z.object({ force: z.boolean().nullish(), ref: lfsRef });

function listLocks(flow: Identified, permission: Permission): Authorized {
  if (flow.exchange.requestFraming.kind !== 'none') throw notLfs('a GET has no body');
  return enrich(flow, { permission: granted(permission), judgedFields: withoutOwnProof(flow.request) });
}

async function verifyLocks(flow: Identified, permission: Permission): Promise<Authorized> {
  const { cursor, limit, ref } = await readLfsBody(flow, verifyRequest, maxBodyBytes);
  return withLfsBody(flow, permission, { ...given({ cursor, limit }), ...refOf(ref) });
}

async function takeLock(flow: Identified, permission: Permission, policy: CompiledPolicy): Promise<Authorized> {
  const { path, ref } = await readLfsBody(flow, lockRequest, maxBodyBytes);
  requirePushRights(policy, flow.sandbox, nameOf(ref), 'lock a file');
  return withLfsBody(flow, permission, { path, ...refOf(ref) });
}

async function giveBackLock(flow: Identified, permission: Permission, policy: CompiledPolicy): Promise<Authorized> {
  const { force, ref } = await readLfsBody(flow, unlockRequest, maxBodyBytes);
  requirePushRights(policy, flow.sandbox, nameOf(ref), 'unlock a file');
  if (force === true) {
    throw notAllowed(
      `${flow.sandbox.id} may not break a lock: it could be somebody else's`,
      'built-in: locks are not broken',
      'Unlock without --force, or ask the owner of the lock.',
    );
  }
  return withLfsBody(flow, permission, { force: false, ...refOf(ref) });
}

type Ref = z.output<typeof lfsRef>;

function nameOf(ref: Ref): string | null {
  return ref == null || ref.name === '' ? null : ref.name;
}

function refOf(ref: Ref): object {
  const name = nameOf(ref);
  return name === null ? {} : { ref: { name } };
}

function given(fields: Record<string, string | number | null | undefined>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}

// A request under an address that this door handed out: good for the sandbox, place, object, method and time it was made
// for, and for nothing else. Objects are streamed, in both directions. Never tells what was wrong with a ticket.
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

// What a sandbox gets to see of the answer of a storage: the object and the fields that describe it. Redirects, cookies
// and error pages stay here, because storages write addresses, signatures and what they were signed from into them.
const passedOn = new Set([
  'accept-ranges',
  'age',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'retry-after',
]);

/** `inner` in payload form; `host` is the LFS server that named the storage. */
function storageAnswer(inner: Exchange, action: LfsAction, host: string): Exchange {
  return new StorageAnswer(new RewrittenAnswer(inner, ({ status }) => rewriterFor(status, action, host)), host);
}

class StorageAnswer extends ExchangeView {
  readonly #host: string;

  constructor(inner: Exchange, host: string) {
    super(inner);
    this.#host = host;
  }

  /** Early hints are addresses. */
  override inform(): void {}

  override respond(head: ResponseHead): BodyWriter {
    const { status } = head;
    if (status >= 300 && status < 400 && status !== 304) {
      throw unsafeLfsAnswer(this.#host, `named a storage that answers with a redirect (status ${status})`);
    }
    const headers = head.headers.without((key) => !passedOn.has(key));
    return this.inner.respond({ ...head, reason: '', headers: status < 400 ? headers : errorHeaders(headers) });
  }
}

function errorHeaders(headers: HeaderList): HeaderList {
  return headers
    .without((key) => key !== 'retry-after' && key !== 'content-range' && key !== 'date')
    .append('Content-Type', lfsContentType);
}

/** Null: as it comes, while it comes. */
function rewriterFor(status: number, action: LfsAction, host: string): AnswerRewriter | null {
  if (status >= 400) {
    const message = `the storage that ${host} names answered with status ${status}`;
    return { feed: () => [], end: () => [Buffer.from(`${JSON.stringify({ message })}\n`)] };
  }
  if (action === 'download' || status === 204 || status === 304) return null;
  // Of what was done git-lfs reads the status alone.
  return { feed: () => [], end: () => [] };
}
