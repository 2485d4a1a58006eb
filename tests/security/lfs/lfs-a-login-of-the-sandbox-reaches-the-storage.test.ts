import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  openLfsGround,
  storedObject,
} from '../../support/lfs-ground.ts';
import { storageKey } from '../../support/lfs-upstream.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => ground.upstream.forget());
afterAll(() => ground.stop());

const own = {
  authorization: 'Bearer own',
  cookie: 'session=own',
  'x-api-key': 'own',
  'x-storage-tenant': 'own',
  'x-amz-acl': 'public-read',
  'x-forwarded-for': '10.0.0.1',
  referer: 'https://own.example/',
  origin: 'https://own.example',
  'accept-encoding': 'gzip',
};

describe('of what the sandbox sent only the needful goes to the storage', () => {
  test('of a download', async () => {
    const { href, content } = await storedObject(ground);
    const reply = await ask(ground, href, {
      headers: { ...own, accept: '*/*', 'if-match': '*', 'user-agent': 'me' },
    });
    expect(reply.body.equals(content)).toBe(true);
    const seen = ground.upstream.stored[0]!;
    expect(fieldsOf(seen.headers)).toEqual({
      accept: '*/*',
      'accept-encoding': 'identity',
      authorization: `Bearer ${storageKey}`,
      'if-match': '*',
      'user-agent': 'me',
      'x-storage-tenant': 'acme',
    });
  });

  test('of an upload', async () => {
    const object = freshObject();
    const { upload } = actionsOf(await askBatch(ground, 'upload', [object]));
    const headers = { ...own, 'content-type': 'image/png', 'content-length': '1000', range: 'bytes=0-1' };
    const reply = await ask(ground, upload!.href, { method: 'PUT', headers, body: object.content });
    expect(reply.status).toBe(200);
    expect(fieldsOf(ground.upstream.stored[0]!.headers)).toEqual({
      'accept-encoding': 'identity',
      authorization: `Bearer ${storageKey}`,
      'content-length': '1000',
      'content-type': 'image/png',
      'x-storage-tenant': 'acme',
    });
  });

  test('and no credential of the gateway that belongs elsewhere', async () => {
    const { href } = await storedObject(ground);
    await ask(ground, href);
    expect(await ground.lastRecord(href.slice(href.lastIndexOf('/')))).toMatchObject({ credential: null });
    expect(JSON.stringify(ground.upstream.stored)).not.toContain('Basic');
  });
});

function fieldsOf(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const hop = new Set(['host', 'connection', 'transfer-encoding']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !hop.has(name)));
}
