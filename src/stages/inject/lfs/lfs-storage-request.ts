// The request for an object as the storage gets it: its own address and fields from behind the ticket, and of what the
// sandbox sent only what an object transfer needs. No cookie, no login, no name of the sandbox travels.

import { enrich } from '../../../path/enrich.ts';
import type { AnswerScrub } from '../../../path/exchange/answer-scrub.ts';
import { HeaderList } from '../../../path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../path/exchange/outgoing-request.ts';
import type { Authorized, Injected } from '../../../path/flow.ts';
import { reveal } from '../../../path/secret.ts';
import { scrubForStorage } from './lfs-storage-scrub.ts';
import type { StorageAccess } from './lfs-ticket-store.ts';

/** What inject needs of the store. */
export interface LfsAccess {
  open(ticket: string): StorageAccess | null;
}

const passedOn: Readonly<Record<string, readonly string[]>> = {
  GET: [
    'Accept',
    'If-Match',
    'If-Modified-Since',
    'If-None-Match',
    'If-Range',
    'If-Unmodified-Since',
    'Range',
    'User-Agent',
  ],
  PUT: ['Accept', 'Content-Length', 'Content-Type', 'User-Agent'],
  POST: ['Accept', 'Content-Length', 'Content-Type', 'User-Agent'],
};

/** `openScrub` null: answers are not searched. Authorize has found the ticket to be good for this request; a disagreement forwards nothing. */
export function toStorage(
  flow: Authorized,
  tickets: LfsAccess | null,
  openScrub: (() => AnswerScrub | null) | null,
): Injected {
  const { permission, sandbox, request, canonical } = flow;
  const access = tickets?.open(permission.git?.ticket ?? '') ?? null;
  if (access === null) throw new Error('an LFS ticket was found good and is not there');
  if (access.grant.sandboxId !== sandbox.id || access.grant.sandboxSince !== sandbox.createdAt) {
    throw new Error(`an LFS ticket of another sandbox than ${sandbox.id}`);
  }
  const headers = new HeaderList();
  const own = new Set(access.headers.map(([name]) => name.toLowerCase()));
  for (const name of passedOn[canonical.method] ?? []) {
    const key = name.toLowerCase();
    const value = own.has(key) ? undefined : request.headers.get(key);
    if (value !== undefined) headers.append(name, value);
  }
  // The name of an object is the hash of its plain bytes, and with no Accept-Encoding any coding would do.
  headers.append('Accept-Encoding', 'identity');
  for (const [name, value] of access.headers) headers.append(name, reveal(value));
  const outgoing = new OutgoingRequest(reveal(access.target), headers, {
    origin: access.origin,
    scrub: openScrub === null ? null : scrubForStorage(access, openScrub()),
  });
  return enrich(flow, { outgoing, injected: null });
}
