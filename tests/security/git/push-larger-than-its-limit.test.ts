// A sandbox fills the disk of the gateway, or takes the room of the others.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { rejected, remoteWords } from '../../support/git-sandbox.ts';
import { expectPushed, expectRefused, openPushGround, type PushGround } from '../../support/push-ground.ts';
import { commandSection, expectStopped, sendPush, zeroId } from '../../support/raw-push.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { packOf } from '../../unit/protocols/git/objects/pack-builder.ts';

const kib = 1024;
let ground: PushGround;

beforeAll(async () => {
  ground = await openPushGround({ config: { limits: { push_bytes: 300 * kib, spool_bytes: 400 * kib } } });
});

afterAll(() => ground.stop());

const noise = (bytes: number): string =>
  randomBytes(bytes / 2)
    .toString('hex')
    .slice(0, bytes);

describe('a push is no larger than the limit', () => {
  test.each(['1m', '64k'])('and says so in words of git, with a buffer of %s', async (buffer) => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    const files = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`noise-${i}`, noise(100 * kib)]));
    await clone.commit({ branch: 'large', parents: [repository.main], files });
    const run = await expectRefused(ground, repository, 'limit.push-size', () =>
      clone.run(['-c', 'http.version=HTTP/1.1', '-c', `http.postBuffer=${buffer}`, 'push', 'origin', 'large']),
    );
    expect(Object.keys(rejected(run))).toEqual(['large']);
    expect(remoteWords(run)).toContain('limits.push_bytes');
  });

  test('announced by its length, or not at all', async () => {
    const repository = await ground.repository();
    const pack = packOf([{ code: 3, content: randomBytes(2_000 * kib) }]);
    const section = commandSection([[zeroId, 'ab'.repeat(20), 'refs/heads/large']]);
    const body = Buffer.concat([section, pack]);
    await expectStopped(ground, repository, 'limit.push-size', () => sendPush(ground, repository, body));
    const chunk = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
    await expectStopped(ground, repository, 'limit.push-size', () =>
      sendPush(ground, repository, chunk, { framing: ['Transfer-Encoding: chunked'] }),
    );
  });

  test('a smaller one passes', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'small', parents: [repository.main], files: { noise: noise(100 * kib) } });
    await expectPushed(ground, () => clone.run(['push', 'origin', 'small']));
  });
});

describe('pushes under way share the room on disk', () => {
  test('while others fill it, the next is refused, and passes once they are gone', async () => {
    const repository = await ground.repository();
    const clone = await ground.sandbox.clone(repository.url);
    await clone.commit({ branch: 'next', parents: [repository.main], files: { noise: noise(400 * kib) } });
    const section = commandSection([[zeroId, 'ab'.repeat(20), 'refs/heads/waiting']]);
    const begun = Buffer.concat([section, packOf([{ code: 3, content: randomBytes(310 * kib) }])]).subarray(
      0,
      300 * kib,
    );
    const open = await openTls(ground.gateway, 'github.com:443', { caPath: ground.gateway.caPath });
    open.on('error', () => {});
    open.write(
      `POST /${repository.name}.git/git-receive-pack HTTP/1.1\r\nHost: github.com\r\n` +
        `Content-Type: application/x-git-receive-pack-request\r\nContent-Length: ${320 * kib}\r\n\r\n`,
    );
    open.write(begun);
    await eventually(() => ground.spooledBytes() > 250 * kib, 'the first push waits on disk');

    ground.upstream.forget();
    const run = await clone.run(['push', 'origin', 'next']);
    expect(rejected(run)).toEqual({ next: 'no room at the gateway' });
    expect(remoteWords(run)).toContain('limits.spool_bytes');
    expect(ground.upstream.pushes).toEqual([]);
    expect(await ground.lastRecord('/git-receive-pack')).toMatchObject({ verdict: 'refused', code: 'limit.push-size' });

    open.destroy();
    await eventually(() => ground.spooled().length === 0, 'the first push has given its room back');
    await expectPushed(ground, () => clone.run(['push', 'origin', 'next']));
  });
});
