import { afterAll, beforeAll, expect, test } from 'vitest';
import { actionsOf, ask, askBatch, freshObject, type LfsGround, openLfsGround } from '../../support/lfs-ground.ts';
import type { Batch } from '../../support/lfs-server.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterAll(() => ground.stop());

test('an address ends when the storage says so, though the storage would still serve it', async () => {
  const object = freshObject();
  ground.upstream.objects.set(object.oid, object.content);
  ground.upstream.lfs.script = ({ objects }: Batch) => ({
    objects: objects.map(({ oid, size, actions }) => ({
      oid,
      size,
      actions: { download: { ...actions!.download!, expires_in: 3 } },
    })),
  });
  const { download } = actionsOf(await askBatch(ground, 'download', [object]));
  expect(download!.expires_in).toBeLessThanOrEqual(3);
  expect((await ask(ground, download!.href)).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 3_050));
  ground.upstream.forget();
  const late = await ask(ground, download!.href);
  expect([late.status, late.code]).toEqual([403, 'lfs.ticket']);
  expect(ground.upstream.stored).toEqual([]);
});
