import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askBatch, freshObject, type LfsGround, openLfsGround } from '../../support/lfs-ground.ts';
import type { Batch } from '../../support/lfs-server.ts';
import { storageHost, storageKey, storageSignature } from '../../support/lfs-upstream.ts';

let ground: LfsGround;
const [object, other] = [freshObject(), freshObject()];

beforeAll(async () => {
  ground = await openLfsGround();
  ground.upstream.objects.set(object.oid, object.content);
});

afterAll(() => ground.stop());

function secretsIn(text: string): string[] {
  return [storageKey, storageHost, storageSignature].filter((secret) => text.includes(secret));
}

describe('an answer gives what was asked for', () => {
  test('no other object, none twice, and no action of another operation', async () => {
    ground.upstream.lfs.script = ({ objects }: Batch) => {
      const { download } = objects[0]!.actions!;
      const actions = { download, upload: download, verify: download, delete: download };
      return {
        objects: [
          { ...objects[0], actions },
          { ...objects[0], actions },
          { ...objects[0], oid: other.oid },
        ],
      };
    };
    const reply = await askBatch(ground, 'download', [object]);
    expect(JSON.parse(reply.body.toString())).toEqual({
      objects: [
        {
          oid: object.oid,
          size: object.size,
          authenticated: true,
          actions: {
            download: {
              href: expect.stringMatching(/^https:\/\/github\.com\/acme\/art\.git\/info\/lfs\/door\/[\w-]{32}$/),
              expires_in: expect.any(Number),
              expires_at: expect.any(String),
            },
          },
        },
      ],
    });
    expect(secretsIn(reply.text)).toEqual([]);
  });

  test('no field that is not known, wherever it stands', async () => {
    ground.upstream.lfs.script = ({ objects }: Batch) => ({
      transfer: 'basic',
      message: storageHost,
      _links: objects[0]!.actions,
      objects: [{ ...objects[0], _links: objects[0]!.actions, path: storageKey }],
    });
    const reply = await askBatch(ground, 'download', [object]);
    expect(reply.status).toBe(200);
    expect(secretsIn(reply.text)).toEqual([]);
  });

  test('an error keeps its code and words, and has no action beside it', async () => {
    ground.upstream.lfs.script = ({ objects }: Batch) => ({
      objects: [{ ...objects[0], error: { code: 410, message: 'gone', detail: storageKey } }],
    });
    const reply = await askBatch(ground, 'download', [object]);
    expect(JSON.parse(reply.body.toString()).objects).toEqual([
      { oid: object.oid, size: object.size, error: { code: 410, message: 'gone' } },
    ]);
  });
});
