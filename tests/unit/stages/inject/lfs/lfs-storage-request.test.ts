import { describe, expect, test } from 'vitest';
import { InjectStage } from '../../../../../src/stages/inject/inject-stage.ts';
import { LfsTicketStore } from '../../../../../src/stages/inject/lfs/lfs-ticket-store.ts';
import { authorized, everySpec, injectNow, policyOf, secretsOf, wire } from '../authorized-flow.ts';

const policy = policyOf(everySpec);
const store = new LfsTicketStore({ now: () => 0 });
const stage = new InjectStage(
  () => policy,
  secretsOf((name) => `real-${name}`),
  { lfsTickets: store },
);

const registered = '2027-01-01T00:00:00Z';

function ticketFor(
  sandboxId: string,
  headers: [string, string][] = [['Authorization', 'storage-key']],
  sandboxSince = registered,
): string {
  return store.issue(
    {
      sandboxId,
      sandboxSince,
      host: 'github.com',
      port: 443,
      repository: 'acme/art',
      action: 'download',
      oid: '',
      size: 1,
      expiresAt: 1,
    },
    { origin: { scheme: 'https', host: 's.example', port: 8443 }, target: '/x?sig=1', headers },
  );
}

function parts(ticket: string, method = 'GET', headers: [string, string][] = []) {
  const git = { repository: 'acme/art', rawRepositoryPath: '/acme/art', operation: 'lfs-object' as const, ticket };
  return {
    canonical: { host: 'github.com', method, path: `/acme/art/info/lfs/door/${ticket}` },
    permission: { git },
    headers,
  };
}

describe('a ticket becomes the request that the storage wants', () => {
  test('its own address and fields, and nothing that the gateway holds for another host', () => {
    const out = injectNow(stage, parts(ticketFor('sbx'), 'GET', [['Range', 'bytes=5-']]));
    expect(out.outgoing.origin).toEqual({ scheme: 'https', host: 's.example', port: 8443 });
    expect(wire(out)).toBe('/x?sig=1\nRange: bytes=5-\nAccept-Encoding: identity\nAuthorization: storage-key');
    expect(out.injected).toBeNull();
  });

  test('a field that the storage gives stands in place of the sandbox’s', () => {
    const ticket = ticketFor('sbx', [['content-type', 'application/octet-stream']]);
    const sent: [string, string][] = [
      ['Content-Type', 'image/png'],
      ['Content-Length', '1'],
      ['If-Match', '*'],
    ];
    expect(wire(injectNow(stage, parts(ticket, 'PUT', sent)))).toBe(
      '/x?sig=1\nContent-Length: 1\nAccept-Encoding: identity\ncontent-type: application/octet-stream',
    );
  });

  test('a ticket of another sandbox, or none, forwards nothing', () => {
    expect(() => stage.run(authorized(parts(ticketFor('other'))))).toThrow('another sandbox');
    const earlier = ticketFor('sbx', [], '2026-12-31T00:00:00Z');
    expect(() => stage.run(authorized(parts(earlier)))).toThrow('another sandbox');
    expect(() => stage.run(authorized(parts('never-issued')))).toThrow('is not there');
    const without = new InjectStage(
      () => policy,
      secretsOf(() => null),
    );
    expect(() => without.run(authorized(parts(ticketFor('sbx'))))).toThrow('is not there');
  });

  test('what goes out does not print', () => {
    const out = injectNow(stage, parts(ticketFor('sbx')));
    expect(JSON.stringify({ ...out, trail: null })).not.toMatch(/storage-key|sig=1/);
  });
});
