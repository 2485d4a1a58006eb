import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { actionsOf, ask, askBatch, freshObject, type LfsGround, openLfsGround } from '../../support/lfs-ground.ts';
import type { Action, Batch } from '../../support/lfs-server.ts';
import { storageHost, storageKey } from '../../support/lfs-upstream.ts';

let ground: LfsGround;
const object = freshObject();

beforeAll(async () => {
  ground = await openLfsGround();
  ground.upstream.objects.set(object.oid, object.content);
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

/** The answer to a batch for which the server gives this action. */
function batchWith(action: Action) {
  ground.upstream.lfs.script = ({ objects }: Batch) => ({
    objects: objects.map(({ oid, size }) => ({ oid, size, actions: { download: action } })),
  });
  return askBatch(ground, 'download', [object]);
}

describe('what a server says about its storage is believed only in one form', () => {
  const path = `/x?sig=${storageKey}`;
  test.each([
    ['plain http', `http://${storageHost}${path}`],
    ['another scheme', `ftp://${storageHost}${path}`],
    ['loopback by number', `https://127.0.0.1${path}`],
    ['loopback, short', `https://127.1${path}`],
    ['loopback as one number', `https://2130706433${path}`],
    ['loopback in hex', `https://0x7f000001${path}`],
    ['IPv6', `https://[::1]${path}`],
    ['a private address', `https://10.0.0.5${path}`],
    ['cloud metadata', `https://169.254.169.254${path}`],
    ['a login', `https://user:pass@${storageHost}${path}`],
    ['a backslash', `https://${storageHost}\\@elsewhere.example${path}`],
    ['a fragment', `https://${storageHost}/x#${storageKey}`],
    ['a line end', `https://${storageHost}/x\r\nX-More: 1`],
    ['a port that is none', `https://${storageHost}:99999${path}`],
    ['a trailing dot', `https://${storageHost}.${path}`],
    ['no address', 'storage'],
  ])('not %s', async (_, href) => {
    const reply = await batchWith({ href });
    expect([reply.status, reply.code]).toEqual([502, 'upstream.protocol']);
    for (const secret of [storageKey, storageHost, 'door']) expect(reply.text).not.toContain(secret);
    expect(ground.upstream.stored).toEqual([]);
  });

  test.each([
    ['a line end in a value', { 'X-A': 'a\r\nX-B: b' }],
    ['a name that is none', { 'X A': 'a' }],
    ['one field twice', { Authorization: 'a', authorization: 'b' }],
  ])('no fields with %s', async (_, header) => {
    const reply = await batchWith({ href: `https://${storageHost}/x`, header });
    expect([reply.status, reply.code]).toEqual([502, 'upstream.protocol']);
  });

  test('fields about framing and the host are the gateway’s own', async () => {
    const header = {
      Host: 'inner.example',
      'Transfer-Encoding': 'chunked',
      'Content-Length': '7',
      Connection: 'X-Keep',
      'X-Keep': 'yes',
    };
    const { download } = actionsOf(await batchWith({ href: `https://${storageHost}/x`, header }));
    await ask(ground, download!.href);
    const { headers } = ground.upstream.stored[0]!;
    expect(headers[':authority'] ?? headers.host).toBe(storageHost);
    expect(headers['x-keep']).toBe('yes');
    expect(headers).not.toHaveProperty('content-length');
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  test('a name that leads inside leads nowhere, and is not told', async () => {
    const { download } = actionsOf(await batchWith({ href: `https://localhost:${ground.gateway.port}/internal` }));
    const reply = await ask(ground, download!.href);
    expect([reply.status, reply.code]).toEqual([502, 'upstream.address-refused']);
    expect(reply.text).not.toContain('localhost');
  });
});
