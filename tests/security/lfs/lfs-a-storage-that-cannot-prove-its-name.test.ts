import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { ask, type LfsGround, openLfsGround, storedObject } from '../../support/lfs-ground.ts';

const impostor = 'impostor.storage.example';
let ground: LfsGround;
let storage: FakeUpstream;

beforeAll(async () => {
  ground = await openLfsGround({
    places: async (ca) => {
      storage = await startFakeUpstream(ca, ['somebody.else.example']);
      return { [impostor]: storage.address };
    },
  });
});

afterAll(async () => {
  await ground.stop();
  await storage.close();
});

test('nothing is sent to a storage whose certificate is for another name, and the sandbox does not learn the name', async () => {
  ground.upstream.lfs.script = ({ objects }) => ({
    objects: objects.map(({ oid, size }) => ({ oid, size, actions: { download: { href: `https://${impostor}/x` } } })),
  });
  const object = await storedObject(ground);
  const reply = await ask(ground, object.href);
  expect([reply.status, reply.code]).toEqual([502, 'upstream.certificate']);
  expect(reply.text).not.toContain(impostor);
  expect(storage.seen).toEqual([]);
});
