import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  openLfsGround,
  type RawReply,
  storedObject,
} from '../../support/lfs-ground.ts';
import { storageHost, storageKey, storageSignature } from '../../support/lfs-upstream.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => {
  ground.upstream.storageScript = null;
});

afterAll(() => ground.stop());

const telling = `https://${storageHost}/elsewhere?X-Signature=${storageSignature}&key=${storageKey}`;

function expectNothingTold({ text }: RawReply): void {
  for (const secret of [storageKey, storageHost, storageSignature]) expect(text).not.toContain(secret);
}

describe('an answer of the storage does not show where it is or what opens it', () => {
  test.each([301, 302, 303, 307, 308])('a redirect with status %i is not passed on', async (status) => {
    const object = await storedObject(ground);
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.writeHead(status, { location: telling }).end(telling);
    };
    const reply = await ask(ground, object.href);
    expect([reply.status, reply.code]).toEqual([502, 'upstream.protocol']);
    expectNothingTold(reply);
  });

  test.each([400, 403, 404, 416, 429, 503])('an error keeps its status %i and loses its words', async (status) => {
    const object = await storedObject(ground);
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.writeHead(status, { 'retry-after': '7', 'www-authenticate': telling, link: telling }).end(telling);
    };
    const reply = await ask(ground, object.href);
    expect(reply.status).toBe(status);
    expect(reply.headers['retry-after']).toBe('7');
    expect(JSON.parse(reply.body.toString()).message).toContain(`answered with status ${status}`);
    expectNothingTold(reply);
  });

  test('an object comes without cookies and other fields', async () => {
    const object = await storedObject(ground);
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.writeHead(200, {
        'set-cookie': telling,
        location: telling,
        link: telling,
        'x-served': telling,
        etag: '"1"',
      });
      response.end('object');
    };
    const reply = await ask(ground, object.href);
    expect([reply.body.toString(), reply.headers.etag]).toEqual(['object', '"1"']);
    expectNothingTold(reply);
  });

  test('early hints stay where they came from', async () => {
    const object = await storedObject(ground);
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.stream.additionalHeaders({ ':status': 103, link: `<${telling}>; rel=preload` });
      response.writeHead(200).end('object');
    };
    const reply = await ask(ground, object.href);
    expect(reply.body.toString()).toBe('object');
    expectNothingTold(reply);
  });

  test('of an upload and its confirmation only the status is told', async () => {
    const object = freshObject();
    const { upload, verify } = actionsOf(await askBatch(ground, 'upload', [object]));
    const put = await ask(ground, upload!.href, { method: 'PUT', body: object.content });
    const headers = { 'content-type': 'application/vnd.git-lfs+json' };
    const post = await ask(ground, verify!.href, { method: 'POST', body: '{}', headers });
    for (const reply of [put, post]) {
      expect([reply.status, reply.body.length]).toEqual([200, 0]);
      expectNothingTold(reply);
    }
  });

  test('a storage that cannot be reached is not named', async () => {
    ground.upstream.lfs.script = ({ objects }) => ({
      objects: objects.map(({ oid, size }) => ({
        oid,
        size,
        actions: { download: { href: `https://nowhere.${storageHost}.invalid/x` } },
      })),
    });
    const object = await storedObject(ground);
    ground.upstream.lfs.script = null;
    const reply = await ask(ground, object.href);
    expect([reply.status, reply.code]).toEqual([502, 'upstream.unresolved']);
    expectNothingTold(reply);
  });
});
