import { describe, expect, test } from 'vitest';
import { BatchAnswer, type BatchAsked } from '../../../../../../src/stages/authorize/git/lfs/lfs-batch-answer.ts';
import type { LfsAddress, LfsGrant } from '../../../../../../src/stages/authorize/git/lfs/lfs-tickets.ts';

const oid = 'ab'.repeat(32);
const now = Date.parse('2026-05-01T12:00:00Z');

const asked: BatchAsked = {
  sandboxSince: '2026-01-01T00:00:00.000Z',
  sandboxId: 'sbx',
  host: 'git.example.com',
  port: 8443,
  repository: 'acme/art',
  rawRepositoryPath: '/Acme/Art.git',
  operation: 'upload',
  sizes: new Map([[oid, 7]]),
};

function rewrite(answer: object, over: Partial<BatchAsked> = {}) {
  const issued: { grant: LfsGrant; address: LfsAddress }[] = [];
  const tickets = {
    issue: (grant: LfsGrant, address: LfsAddress) => `ticket-${issued.push({ grant, address })}`,
    find: () => null,
  };
  const rewriter = new BatchAnswer({ ...asked, ...over }, tickets, () => now);
  // In pieces, as it may come.
  const bytes = Buffer.from(JSON.stringify(answer));
  for (let at = 0; at < bytes.length; at += 9) expect(rewriter.feed(bytes.subarray(at, at + 9))).toEqual([]);
  return { issued, answer: JSON.parse(Buffer.concat([...rewriter.end()]).toString()) as unknown };
}

const upload = { href: 'https://s.example/up', header: { 'X-Key': 'k' }, expires_in: 60 };
const verify = { href: 'https://s.example/verify', header: null };

describe('the answer to a batch is made of addresses of the door', () => {
  test('on the host, port and path that were asked, one for each action', () => {
    const { answer, issued } = rewrite({ objects: [{ oid, size: 9, actions: { upload, verify } }] });
    const place = 'https://git.example.com:8443/Acme/Art.git/info/lfs/door';
    expect(answer).toEqual({
      objects: [
        {
          oid,
          size: 7,
          authenticated: true,
          actions: {
            upload: { href: `${place}/ticket-1`, expires_in: 60, expires_at: '2026-05-01T12:01:00.000Z' },
            verify: { href: `${place}/ticket-2`, expires_in: 3600, expires_at: '2026-05-01T13:00:00.000Z' },
          },
        },
      ],
    });
    const { sandboxId, sandboxSince, host, port, repository } = asked;
    const grant = { sandboxId, sandboxSince, host, port, repository, oid, size: 7 };
    expect(issued).toEqual([
      {
        grant: { ...grant, action: 'upload', expiresAt: now + 60_000 },
        address: {
          origin: { scheme: 'https', host: 's.example', port: 443 },
          target: '/up',
          headers: [['X-Key', 'k']],
        },
      },
      {
        grant: { ...grant, action: 'verify', expiresAt: now + 3600_000 },
        address: { origin: { scheme: 'https', host: 's.example', port: 443 }, target: '/verify', headers: [] },
      },
    ]);
  });

  test('without a port where it is the usual one', () => {
    const { answer } = rewrite({ objects: [{ oid, actions: { upload } }] }, { port: 443 });
    expect(JSON.stringify(answer)).toContain('"https://git.example.com/Acme/Art.git/info/lfs/door/ticket-1"');
  });

  test('no ticket is made for what was not asked for', () => {
    const { answer, issued } = rewrite(
      {
        objects: [
          { oid, actions: { upload, verify, download: upload } },
          { oid: 'cd'.repeat(32), actions: { download: upload } },
        ],
      },
      { operation: 'download' },
    );
    expect(issued.map(({ grant }) => grant.action)).toEqual(['download']);
    expect((answer as { objects: unknown[] }).objects).toHaveLength(1);
  });

  test('an object that the server has already comes without actions', () => {
    for (const actions of [undefined, null, {}]) {
      expect(rewrite({ transfer: 'basic', objects: [{ oid, size: 7, actions }] }).answer).toEqual({
        transfer: 'basic',
        objects: [{ oid, size: 7 }],
      });
    }
  });

  test('an address that may not be used is refused with its reason, and is not quoted', () => {
    const bad = { href: 'http://s.example/' };
    expect(() => rewrite({ objects: [{ oid, actions: { upload: bad } }] })).toThrow(
      'the LFS server of git.example.com gave an address for upload that is not a plain https address',
    );
  });
});
