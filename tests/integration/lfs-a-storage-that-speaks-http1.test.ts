import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  actionsOf,
  ask,
  askBatch,
  freshObject,
  type LfsGround,
  lfsType,
  openLfsGround,
} from '../support/lfs-ground.ts';
import type { Batch } from '../support/lfs-server.ts';

const plain = 'plain.storage.example';
const seen: { line: string; host: string | undefined; fields: Record<string, unknown>; body: string }[] = [];
let ground: LfsGround;
let storage: Server;

beforeAll(async () => {
  ground = await openLfsGround({
    places: async (ca) => {
      storage = createServer({ ...ca.issue([plain]), ALPNProtocols: ['http/1.1'] }, (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => {
          body += chunk.toString('latin1');
        });
        request.on('end', () => {
          const { host, connection: _, ...fields } = request.headers;
          seen.push({ line: `${request.method} ${request.url}`, host, fields, body });
          response.end('the object');
        });
      });
      await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
      return { [plain]: `127.0.0.1:${(storage.address() as AddressInfo).port}` };
    },
  });
  const action = { href: `https://${plain}:8443/bucket?sig=1`, header: { 'X-Key': 'k' } };
  ground.upstream.lfs.script = ({ objects }: Batch) => ({
    objects: objects.map(({ oid, size }) => ({
      oid,
      size,
      actions: { upload: action, verify: action, download: action },
    })),
  });
});

afterAll(async () => {
  await ground.stop();
  storage.closeAllConnections();
  await new Promise((resolve) => storage.close(resolve));
});

test('uploads, confirmations and downloads go to the storage under its own name and port, one after the other', async () => {
  const object = freshObject(50);
  const { upload, verify } = actionsOf(await askBatch(ground, 'upload', [object]));
  const { download } = actionsOf(await askBatch(ground, 'download', [object]));
  const replies = [
    await ask(ground, upload!.href, { method: 'PUT', body: object.content }),
    await ask(ground, verify!.href, { method: 'POST', body: '{}', headers: { 'content-type': lfsType } }),
    await ask(ground, download!.href),
  ];
  expect(replies.map(({ status, body }) => `${status} ${body}`)).toEqual(['200 ', '200 ', '200 the object']);
  const confirmed = JSON.stringify({ oid: object.oid, size: 50 });
  const plainly = { 'accept-encoding': 'identity' };
  expect(seen).toEqual([
    {
      line: 'PUT /bucket?sig=1',
      host: `${plain}:8443`,
      fields: { ...plainly, 'content-length': '50', 'x-key': 'k' },
      body: object.content.toString('latin1'),
    },
    {
      line: 'POST /bucket?sig=1',
      host: `${plain}:8443`,
      fields: { ...plainly, 'content-length': String(confirmed.length), 'content-type': lfsType, 'x-key': 'k' },
      body: confirmed,
    },
    { line: 'GET /bucket?sig=1', host: `${plain}:8443`, fields: { ...plainly, 'x-key': 'k' }, body: '' },
  ]);
});
