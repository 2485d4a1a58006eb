import { request as httpsRequest } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  openLfsGround,
  storedObject,
} from '../support/lfs-ground.ts';
import { storageHost } from '../support/lfs-upstream.ts';
import { askHttp2, openHttp2, TunnelAgent } from '../support/tunnel-client.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterEach(() => {
  ground.upstream.storageScript = null;
  ground.upstream.forget();
});

afterAll(() => ground.stop());

describe('an object passes while it comes', () => {
  test('the storage has the beginning of an upload before its end was sent', async () => {
    const object = freshObject(4_000_000);
    const { upload } = actionsOf(await askBatch(ground, 'upload', [object]));
    const agent = new TunnelAgent(ground.gateway, ground.gateway.caPath);
    const request = httpsRequest(upload!.href, { method: 'PUT', agent, headers: { 'content-length': object.size } });
    const status = new Promise<number>((resolve, reject) => {
      request.on('response', (response) => resolve(response.resume().statusCode ?? 0));
      request.on('error', reject);
    });
    request.write(object.content.subarray(0, 3_000_000));
    await eventually(() => (ground.upstream.stored[0]?.bytes ?? 0) >= 2_500_000, 'the beginning at the storage');
    expect(ground.upstream.objects.has(object.oid)).toBe(false);
    request.end(object.content.subarray(3_000_000));
    expect(await status).toBe(200);
    expect(ground.upstream.objects.get(object.oid)!.equals(object.content)).toBe(true);
    agent.destroy();
  });

  test('the sandbox has the beginning of a download before its end was sent', async () => {
    const object = await storedObject(ground);
    let finish = (): void => {};
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-length': '10' }).write('begin');
      finish = () => response.end('ended');
    };
    const agent = new TunnelAgent(ground.gateway, ground.gateway.caPath);
    let got = '';
    const ended = new Promise<void>((resolve, reject) => {
      httpsRequest(object.href, { agent }, (response) => {
        response.on('data', (chunk: Buffer) => {
          got += chunk;
        });
        response.on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
    await eventually(() => got === 'begin', 'the beginning in the sandbox');
    finish();
    await ended;
    expect(got).toBe('beginended');
    agent.destroy();
  });

  test('a part of an object, with the fields that say which', async () => {
    const object = await storedObject(ground);
    const reply = await ask(ground, object.href, { headers: { range: 'bytes=400-' } });
    expect(reply.status).toBe(206);
    expect(reply.headers['content-range']).toBe('bytes 400-999/1000');
    expect(reply.headers['content-length']).toBe('600');
    expect(reply.body.equals(object.content.subarray(400))).toBe(true);
  });

  test('over HTTP/2 as well, in both directions', async () => {
    const object = freshObject(300_000);
    const session = await openHttp2(ground.gateway, 'github.com', { caPath: ground.gateway.caPath });
    const { upload } = actionsOf(await askBatch(ground, 'upload', [object]));
    const put = await askHttp2(
      session,
      { ':method': 'PUT', ':path': new URL(upload!.href).pathname, 'content-length': String(object.size) },
      object.content,
    );
    expect(put.headers[':status']).toBe(200);
    const { download } = actionsOf(await askBatch(ground, 'download', [object]));
    const got = await askHttp2(session, { ':path': new URL(download!.href).pathname });
    expect(got.headers[':status']).toBe(200);
    expect(got.body.equals(object.content)).toBe(true);
    session.close();
    expect(ground.upstream.stored.map(({ headers }) => headers[':authority'])).toEqual([storageHost, storageHost]);
  });

  test('a download that breaks off does not look whole', async () => {
    const object = await storedObject(ground);
    ground.upstream.storageScript = (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-length': '10' }).write('begin');
      setTimeout(() => response.stream.destroy(), 50);
    };
    await expect(ask(ground, object.href)).rejects.toThrow();
  });
});
