import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askBatch, freshObject, type LfsGround, openLfsGround } from '../../support/lfs-ground.ts';
import { type Batch, json, type LfsReply } from '../../support/lfs-server.ts';
import { storageHost, storageKey, storageSignature } from '../../support/lfs-upstream.ts';

let ground: LfsGround;
const object = freshObject();

beforeAll(async () => {
  ground = await openLfsGround();
  ground.upstream.objects.set(object.oid, object.content);
});

afterAll(() => ground.stop());

const usualHeaders = { 'content-type': 'application/vnd.git-lfs+json' };

describe('an answer that cannot be rewritten is not passed on', () => {
  test.each<[string, (usual: Batch) => LfsReply | object]>([
    ['another transfer', (usual) => ({ ...usual, transfer: 'tus' })],
    ['another hash', (usual) => ({ ...usual, hash_algo: 'sha512' })],
    ['no JSON', (usual) => ({ ...json(200, usual), text: `${JSON.stringify(usual)}}` })],
    ['a list', (usual) => ({ ...json(200, usual), text: JSON.stringify([usual]) })],
    ['actions of another kind', ({ objects }) => ({ objects: [{ ...objects[0], actions: [objects[0]!.actions] }] })],
    ['another status of success', (usual) => json(206, usual)],
    [
      'more than is taken in',
      (usual) => ({ ...json(200, usual), text: `${JSON.stringify(usual)}${' '.repeat(17 * 1024 ** 2)}` }),
    ],
    [
      'a compressed one',
      (usual) => ({
        status: 200,
        headers: { ...usualHeaders, 'content-encoding': 'gzip' },
        text: gzipSync(JSON.stringify(usual)).toString('latin1'),
      }),
    ],
  ])('%s', async (_, script) => {
    ground.upstream.lfs.script = script;
    const reply = await askBatch(ground, 'download', [object]);
    expect([reply.status, reply.code]).toEqual([502, 'upstream.protocol']);
    for (const secret of [storageKey, storageHost, storageSignature]) expect(reply.text).not.toContain(secret);
  });

  test('an error of the server passes as it is', async () => {
    ground.upstream.lfs.script = () => json(422, { message: 'not today' });
    const reply = await askBatch(ground, 'download', [object]);
    expect([reply.status, reply.code]).toEqual([422, null]);
    expect(JSON.parse(reply.body.toString())).toEqual({ message: 'not today' });
  });
});
