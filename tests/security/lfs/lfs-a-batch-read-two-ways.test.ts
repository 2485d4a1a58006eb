import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  lfsType,
  openLfsGround,
  type RawReply,
  repositoryUrl,
} from '../../support/lfs-ground.ts';

const object = freshObject();
const { oid, size } = object;
let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround({ registration: { auth_mode: 'bot', allowed_branches: [] } });
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

function send(body: string | Buffer, headers: Record<string, string> = {}): Promise<RawReply> {
  return ask(ground, `${repositoryUrl}/info/lfs/objects/batch`, {
    method: 'POST',
    body,
    headers: { 'content-type': lfsType, ...headers },
  });
}

describe('the server reads what the rules read', () => {
  test('a key that stands there twice goes out once, with the value that was judged', async () => {
    const objects = JSON.stringify([{ oid, size }]);
    const hidden = await send(`{"operation":"upload","operation":"download","objects":${objects}}`);
    expect(hidden.status).toBe(200);
    expect(ground.upstream.asked.map(({ body }) => body)).toEqual([
      `{"operation":"download","transfers":["basic"],"objects":${objects}}`,
    ]);
    ground.upstream.forget();
    const shown = await send(`{"operation":"download","operation":"upload","objects":${objects}}`);
    expect(shown.code).toBe('lfs.not-allowed');
    expect(ground.upstream.asked).toEqual([]);
  });

  test('what the rules do not know does not go on', async () => {
    await askBatch(ground, 'download', [object], { Operation: 'upload', transfers: ['basic', 'tus'], extra: [1] });
    expect(Object.keys(JSON.parse(ground.upstream.asked[0]!.body))).toEqual([
      'operation',
      'transfers',
      'objects',
      'hash_algo',
    ]);
  });

  const good = JSON.stringify({ operation: 'download', objects: [{ oid, size }] });
  test.each<[string, string | Buffer, Record<string, string>]>([
    ['another content type', good, { 'content-type': 'application/json' }],
    ['another charset', good, { 'content-type': `${lfsType}; charset=utf-16` }],
    ['a compressed body', gzipSync(good), { 'content-encoding': 'gzip' }],
    ['a body that says it is compressed', good, { 'content-encoding': 'gzip' }],
    ['no JSON', `${good},`, {}],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.from(good), Buffer.from([0xff])]), {}],
    ['another operation', good.replace('download', 'delete'), {}],
    ['an id in capital letters', good.replace(oid, oid.toUpperCase()), {}],
    ['an id that is a path', good.replace(oid, '../../x'), {}],
    ['a size below nothing', good.replace(`${size}`, '-1'), {}],
    ['no objects', JSON.stringify({ operation: 'download', objects: [] }), {}],
    [
      'an object twice',
      JSON.stringify({
        operation: 'download',
        objects: [
          { oid, size },
          { oid, size: 1 },
        ],
      }),
      {},
    ],
    ['too many objects', JSON.stringify({ operation: 'download', objects: Array(1001).fill({ oid, size }) }), {}],
    ['another hash', good.replace('{', '{"hash_algo":"sha512",'), {}],
    ['transfers without the one that is served', good.replace('{', '{"transfers":["tus"],'), {}],
    ['a list', `[${good}]`, {}],
  ])('%s is refused', async (_, body, headers) => {
    const reply = await send(body, headers);
    expect([reply.status, reply.code]).toEqual([400, 'lfs.malformed']);
    expect(ground.upstream.asked).toEqual([]);
  });

  test('a body without end is not taken in', async () => {
    const reply = await send(Buffer.alloc(5 * 1024 ** 2, ' '));
    expect([reply.status, reply.code]).toEqual([413, 'limit.body-size']);
    const chunked = await send(Buffer.alloc(5 * 1024 ** 2, ' '), { 'transfer-encoding': 'chunked' });
    expect([chunked.status, chunked.code]).toEqual([413, 'limit.body-size']);
    expect(ground.upstream.asked).toEqual([]);
  });

  test('a login of its own does not reach the LFS server', async () => {
    const headers = { authorization: 'Basic b3duOm93bg==', cookie: 'session=own' };
    expect((await askBatch(ground, 'download', [object], {}, { headers })).status).toBe(200);
    expect(ground.upstream.asked[0]!.headers).not.toHaveProperty('cookie');
  });
});
