import { describe, expect, test } from 'vitest';
import { enrich } from '../../../src/path/enrich.ts';
import type { Identified, Permission } from '../../../src/path/flow.ts';
import { judgeLfsObject } from '../../../src/stages/authorize/git/lfs/judge-lfs.ts';
import type { LfsGrant, LfsTickets } from '../../../src/stages/authorize/git/lfs/lfs-tickets.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../support/hand-made-flow.ts';

const sandbox = sandboxWith({ createdAt: '2026-02-01T00:00:00.000Z' });
const permission = { git: { repository: 'acme/art', operation: 'lfs-object', ticket: 't' } } as unknown as Permission;

function ticketsFor(sandboxSince: string, later: boolean): LfsTickets {
  const grant: LfsGrant = {
    sandboxId: sandbox.id,
    sandboxSince,
    host: 'github.com',
    port: 443,
    repository: 'acme/art',
    action: 'download',
    oid: 'ab'.repeat(32),
    size: 1,
    expiresAt: Date.now() + 60_000,
  };
  return { issue: () => expect.fail(), find: () => (later ? Promise.resolve(grant) : grant) };
}

async function judge(sandboxSince: string, later: boolean): Promise<string> {
  const accepted = acceptedFlow(callerFrom(), canonicalOf('GET', 'https://github.com/acme/art/info/lfs/door/t'));
  const exchange = { requestFraming: { kind: 'none' }, asPayload: () => ({}) } as never;
  const flow = enrich(accepted, { sandbox, exchange }) as Identified;
  try {
    await judgeLfsObject(flow, permission, ticketsFor(sandboxSince, later));
    return 'allowed';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('a ticket is good for the registration that it was issued to', () => {
  // Known here, or found where another gateway has put it.
  test.each([[false], [true]])('and for no other under the same id (from another gateway: %s)', async (later) => {
    expect(await judge(sandbox.createdAt, later)).toBe('allowed');
    expect(await judge('2026-01-01T00:00:00.000Z', later)).toBe('lfs.ticket');
  });
});
