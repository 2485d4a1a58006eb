// A client that goes away in the middle of a push leaves nothing behind: no file, no room taken, no half of a push at
// the server.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openPushGround, type PushGround, type TestRepository } from '../../support/push-ground.ts';
import { commandSection, zeroId } from '../../support/raw-push.ts';
import { openHttp2, openTls } from '../../support/tunnel-client.ts';
import { packOf } from '../../unit/protocols/git/objects/pack-builder.ts';

let ground: PushGround;
let repository: TestRepository;
const begun = Buffer.concat([
  commandSection([[zeroId, 'ab'.repeat(20), 'refs/heads/waiting']]),
  packOf([{ code: 3, content: randomBytes(400_000) }]),
]).subarray(0, 300_000);

beforeAll(async () => {
  ground = await openPushGround();
  repository = await ground.repository();
});

afterAll(() => ground.stop());

async function expectNothingLeft(): Promise<void> {
  await eventually(() => ground.spooled().length === 0, 'the spool is empty again');
  const record = await ground.lastRecord('/git-receive-pack');
  expect(record).toMatchObject({ verdict: 'abandoned', status: 499 });
  expect(ground.upstream.pushes).toEqual([]);
  expect(Object.keys(await repository.bare.refs())).toEqual(['refs/heads/main']);
}

describe('a push that is left half-way is forgotten', () => {
  test.each([
    ['closed', (socket: { end(): void }) => socket.end()],
    ['torn off', (socket: { destroy(): void }) => socket.destroy()],
  ])('over HTTP/1.1, when the connection is %s', async (_how, leave) => {
    const socket = await openTls(ground.gateway, 'github.com:443', { caPath: ground.gateway.caPath });
    socket.on('error', () => {});
    socket.write(
      `POST /${repository.name}.git/git-receive-pack HTTP/1.1\r\nHost: github.com\r\n` +
        'Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 400000\r\n\r\n',
    );
    socket.write(begun);
    await eventually(() => ground.spooled().length === 1, 'the push waits on disk');
    leave(socket);
    await expectNothingLeft();
    socket.destroy();
  });

  test('over HTTP/2, when the stream is cancelled', async () => {
    const session = await openHttp2(ground.gateway, 'github.com', { caPath: ground.gateway.caPath });
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${repository.name}.git/git-receive-pack`,
      'content-type': 'application/x-git-receive-pack-request',
    });
    stream.on('error', () => {});
    stream.write(begun);
    await eventually(() => ground.spooled().length === 1, 'the push waits on disk');
    stream.close(8);
    await expectNothingLeft();
    session.destroy();
  });
});
