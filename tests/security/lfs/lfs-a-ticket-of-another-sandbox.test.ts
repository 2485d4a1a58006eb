import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, type LfsGround, openLfsGround, storedObject } from '../../support/lfs-ground.ts';

let ground: LfsGround;

beforeAll(async () => {
  ground = await openLfsGround();
});

afterAll(() => ground.stop());

test('an address of an object is of no use to another sandbox, though it has the same rights', async () => {
  const door = await ground.anotherSandbox();
  const object = await storedObject(ground);
  const stolen = await ask(ground, object.href, { door });
  expect([stolen.status, stolen.code]).toEqual([403, 'lfs.ticket']);
  expect(JSON.parse(stolen.body.toString())).toMatchObject({
    code: 'lfs.ticket',
    hint: 'Run the git-lfs command again.',
  });
  expect(ground.upstream.stored).toEqual([]);
  const own = await ask(ground, object.href);
  expect(own.body.equals(object.content)).toBe(true);
});

test('nor to a sandbox that was registered after its owner was gone', async () => {
  const first = await ground.anotherSandbox();
  const object = await storedObject(ground);
  expect((await ask(ground, object.href)).status).toBe(200);
  ground.upstream.forget();
  await ground.gateway.admin('DELETE', `/internal/containers/${ground.sandboxId}`);
  await ground.gateway.register({ container_ip: '127.0.0.1', repos: ['acme/*'], auth_mode: 'user' });
  for (const door of [ground.gateway, first]) {
    const reply = await ask(ground, object.href, { door });
    expect([reply.status, reply.code]).toEqual([403, 'lfs.ticket']);
  }
  expect(ground.upstream.stored).toEqual([]);
});
