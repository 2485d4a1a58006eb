import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  lfsType,
  openLfsGround,
  storedObject,
} from '../../support/lfs-ground.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

describe('an upload brings the object that it was asked for', () => {
  test.each([
    ['a byte too many', (content: Buffer) => Buffer.concat([content, Buffer.from('!')]), {}],
    ['a byte too few', (content: Buffer) => content.subarray(1), {}],
    ['nothing', () => Buffer.alloc(0), {}],
    ['no length', (content: Buffer) => content, { 'transfer-encoding': 'chunked' }],
  ])('not with %s', async (_, change, headers: Record<string, string>) => {
    const object = freshObject();
    const { upload } = actionsOf(await askBatch(ground, 'upload', [object]));
    const reply = await ask(ground, upload!.href, { method: 'PUT', body: change(object.content), headers });
    expect([reply.status, reply.code]).toEqual([400, 'lfs.malformed']);
    expect(ground.upstream.stored).toEqual([]);
  });

  test('a confirmation names the object that was granted, whatever the sandbox wrote', async () => {
    const [object, other] = [freshObject(), freshObject(5)];
    const { verify } = actionsOf(await askBatch(ground, 'upload', [object]));
    let body = '';
    ground.upstream.storageScript = (request, response) => {
      request.on('data', (chunk: Buffer) => {
        body += chunk;
      });
      request.on('end', () => response.writeHead(200).end());
    };
    const reply = await ask(ground, verify!.href, {
      method: 'POST',
      headers: { 'content-type': lfsType },
      body: JSON.stringify({ oid: other.oid, size: other.size, admin: true }),
    });
    ground.upstream.storageScript = null;
    expect(reply.status).toBe(200);
    expect(body).toBe(JSON.stringify({ oid: object.oid, size: object.size }));
    expect(ground.upstream.stored[0]!.headers['content-length']).toBe(String(body.length));
  });

  test('a download carries nothing in', async () => {
    const object = await storedObject(ground);
    const reply = await ask(ground, object.href, { body: 'hidden', headers: { 'content-length': '6' } });
    expect([reply.status, reply.code]).toEqual([400, 'lfs.malformed']);
    expect(ground.upstream.stored).toEqual([]);
  });
});
